"""Compress old sessions: replace the memories of each by a few sentences (SPEC 3.4-3.6).

A language model writes them, or a rule if there is no model or it fails. An empty answer means that
the model found nothing to keep: the session is not changed, and the next night asks again. The
prompt is that of the specification, with the conversation in a fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.encoding import TokenCounter
from memd.domain.enums import ArchiveReason, MemoryCategory, MemoryState, Origin
from memd.domain.sleep.consolidation import COMPRESSED_TAG, LLMConsolidationConfig
from memd.extract.passing import passing_kind
from memd.sleep.night.tasks import (
    Cursor,
    NightScope,
    PlannedStep,
    new_summary,
    plan_summary,
    write_summaries,
)
from memd.sleep.strategies.ask import Model, request_answer
from memd.sleep.strategies.batches import group_by_place, summary_row
from memd.sleep.strategies.shorten import truncate
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.memory.groups import MemberRow
from memd.store.memory.transitions import RunStep
from memd.store.session.sessions import IDLE_US
from memd.text.words import SENTENCE_GAP, sentences
from memd.view.view import untrusted_content_directive, wrap_stored

SENTENCES = 3  # of a summary by rule
CHARS = 900  # of a summary by rule
LEAST_CHARS = 40  # of each active memory in it
PROMPT = """\
Summarize the following conversation into 2-3 sentences capturing key facts,
decisions, and topics discussed. Be specific and preserve names, numbers, and
technical details. Do not include pleasantries.
Conversation:
{session_content}"""

_Part = tuple[list[str], bool]
"""Sentences of one memory, and whether it is active."""
_USERS_ORIGINS = frozenset({Origin.PERSON, Origin.IMPORT})
_FENCE = "conversation"


class SessionText(NamedTuple):
    """The text of one memory of a session.

    A memory that is not *is_active* is in another summary already. *is_own* tells what the user
    said or imported from what an assistant, a tool or a page said.
    """

    text: str
    is_active: bool = True
    is_own: bool = True


def summarise_by_rule(texts: Sequence[SessionText]) -> str:
    """Return the first three statements of *texts*, then the beginnings of the other active texts.

    If all texts are active, return the statements alone (SPEC 3.5, decision 0345). Otherwise each
    active text gets an equal share of the remaining characters, as no other summary has it.

    >>> texts = [SessionText("We met. It rained. We left.", False), SessionText("Ann won.")]
    >>> summarise_by_rule(texts)
    'We met. It rained. We left. Ann won.'
    """
    parts = _list_statements(texts)
    short = first_sentences([" ".join(statements) for statements, _ in parts])
    if all(memory.is_active for memory in texts):
        return short
    remaining = (
        " ".join(statement for statement in statements if statement not in short)
        for statements, is_active in parts
        if is_active
    )
    missing = [text for text in remaining if text]
    if not missing:
        return short
    short = truncate(short, CHARS // 2)
    room = max(LEAST_CHARS, (CHARS - len(short)) // len(missing) - len(" ..."))
    return " ".join([short, *(_end_sentence(truncate(text, room)) for text in missing)])[:CHARS]


def _list_statements(texts: Sequence[SessionText]) -> list[_Part]:
    """Return the statements of the user in *texts*, or of others if the user has no text.

    Each statement is returned once. Of a text without a statement, all sentences are returned.

    >>> _list_statements([SessionText("ok. A cat came! From where?"), SessionText("a cat came")])
    [(['A cat came!'], True)]
    """
    known: set[str] = set()
    parts: list[_Part] = []
    for text, is_active, is_own in [memory for memory in texts if memory.is_own] or texts:
        all_sentences = sentences(" ".join(text.split()))
        statements = [
            sentence
            for sentence in all_sentences
            if passing_kind(sentence, by_assistant=not is_own) is None
        ]
        by_words = {
            sentence.casefold().rstrip(".!?"): _end_sentence(sentence)
            for sentence in statements or all_sentences
        }
        new = [sentence for words, sentence in by_words.items() if words not in known]
        known.update(by_words)
        if new:
            parts.append((new, is_active))
    return parts


def first_sentences(contents: Sequence[str]) -> str:
    """Return the first three sentences of *contents*, at most 900 characters.

    >>> first_sentences(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(SENTENCE_GAP.split(joined)[:SENTENCES])[:CHARS]
    return _end_sentence(short)


def _end_sentence(text: str) -> str:
    return f"{text}." if text and text[-1].isalnum() else text


def build_prompt(contents: Sequence[str]) -> str:
    """Return the prompt that asks for a summary of a session's texts."""
    fenced = wrap_stored(_FENCE, "\n".join(contents))
    return PROMPT.replace("{session_content}", fenced)


def select_fitting(
    texts: Sequence[SessionText], *, each_max: int, chars_max: int
) -> dict[int, str]:
    """Return the texts that fit into a prompt of *chars_max*, by their indexes and in order.

    Each is truncated to *each_max* characters. Active texts are selected first, so that a summary
    covers some of them. At least one text is selected.

    >>> texts = [SessionText("abcdef"), SessionText("ab"), SessionText("abc")]
    >>> select_fitting(texts, each_max=4, chars_max=8)
    {0: 'abcd', 1: 'ab'}
    """
    texts_by_index: dict[int, str] = {}
    room = chars_max
    for index in sorted(range(len(texts)), key=lambda index: not texts[index].is_active):
        short = texts[index].text[:each_max]
        room -= len(short) + len("\n")
        if texts_by_index and room < 0:
            break
        texts_by_index[index] = short
    return dict(sorted(texts_by_index.items()))


# The task.


class SessionSummary(NamedTuple):
    """A summary, and the memories that it covers."""

    text: str
    members: Sequence[MemberRow]

    @property
    def active_members(self) -> list[MemberRow]:
        """Return the members to hide; the others are hidden already."""
        return [member for member in self.members if _is_active(member)]


@dataclass(frozen=True)
class Compression:
    """Replace the oldest sessions by a few sentences (SPEC 3), one transaction each.

    A summary covers the whole session, including memories that a consolidation has hidden. A
    session with memories in several places gets a summary in each, except where it has only one
    memory.
    """

    db: Database
    ids: Ids
    counter: TokenCounter
    work: Work
    model: Model | None
    """Writes the summaries; None makes them by rule."""
    bounds: LLMConsolidationConfig
    """The limits of a prompt."""
    threshold: int
    sessions: int | None = None
    force: bool = False
    name: str = "compression"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        del limit  # a whole session is one transaction
        done_keys: list[int] = cursor.get("passed", [])
        waiting = await self.db.read(
            groups.list_uncompressed, scope.agent_key, scope.now_us - IDLE_US, done_keys
        )
        remaining = cursor.get("left", self._session_limit(len(waiting)))
        while remaining > 0 and waiting:
            session_key = waiting.pop(0)
            done_keys = [*done_keys, session_key]
            members = await self.db.read(groups.list_episodes, session_key)
            parts = [part for part in group_by_place(members) if _needs_summary(part)]
            all_summaries = [await self._summarise_part(part) for part in parts]
            summaries = [summary for summary in all_summaries if summary.text]
            if summaries:
                next_cursor = {"left": remaining - 1, "passed": done_keys}
                return self._plan_step(scope, session_key, summaries, next_cursor)
        return None

    async def _summarise_part(self, members: Sequence[MemberRow]) -> SessionSummary:
        texts = [
            SessionText(member.text, _is_active(member), member.origin in _USERS_ORIGINS)
            for member in members
        ]
        text, indexes = await self._summarise(texts)
        return SessionSummary(text, [members[index] for index in indexes])

    async def _summarise(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        """Return a summary of *texts* or "", and the indexes of the texts that it covers."""
        if self.model is not None:
            texts_by_index = select_fitting(
                texts,
                each_max=self.bounds.max_entry_input_chars,
                chars_max=self.bounds.max_total_user_content_chars,
            )
            answer = await request_answer(
                self.model,
                build_prompt(list(texts_by_index.values())),
                system=untrusted_content_directive((_FENCE,)),
            )
            if answer is not None:
                return answer, list(texts_by_index)
        return await self.work.run(summarise_by_rule, texts), range(len(texts))

    def _session_limit(self, waiting: int) -> int:
        """Return how many of the *waiting* sessions this run compresses."""
        if not self.force and waiting <= self.threshold:
            return 0
        return self.sessions or max(1, self.threshold // 2)

    def _plan_step(
        self,
        scope: NightScope,
        session_key: int,
        summaries: Sequence[SessionSummary],
        next_cursor: Cursor,
    ) -> PlannedStep:
        def apply(conn: Writing, step: RunStep) -> int:
            planned = []
            for summary in summaries:
                text, members = summary
                new = new_summary(conn, scope, self.ids, session_key, self.counter.count(text))
                row = summary_row(new, members, text, MemoryCategory.SEMANTIC, (COMPRESSED_TAG,))
                hidden = summary.active_members
                planned.append(plan_summary(row, members, hidden, ArchiveReason.COMPRESSED))
            hidden_count = write_summaries(conn, step, planned)
            names.set_compressed(conn, session_key)
            return hidden_count

        rows = sum(len(summary.active_members) for summary in summaries)
        return PlannedStep(rows, next_cursor, apply)


def _is_active(member: MemberRow) -> bool:
    return member.state == MemoryState.ACTIVE


def _needs_summary(part: Sequence[MemberRow]) -> bool:
    return len(part) > 1 and any(map(_is_active, part))
