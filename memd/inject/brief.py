"""Session briefs: context for a session that begins, or whose window was emptied.

A brief has policies and preferences like each prompt; then, fenced, the digest of the last
session, the project's rules, what the user wished in other projects and holds everywhere, new
facts, memories of the project's latest sessions, and superseded memories. There is no question to
rank by, so age and kind decide. It costs a few short reads and no embedding.
A source that fails is left out and named.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from memd.base.clock import Clock, from_us, to_us
from memd.base.limits import POLICIES_SHOWN_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel, Origin, Trust
from memd.domain.inject import PREPARE_TOKENS, Brief, BriefItem, BriefRequest
from memd.domain.org.org import OrgFact
from memd.domain.sleep.consolidation import without_outcome
from memd.domain.trust import mark as mark_of
from memd.guard.redaction import redact
from memd.inject.brief_rows import (
    DIGEST,
    OpenPoints,
    drop_continued,
    find_open_points,
    rank_rows,
    rank_rules,
    state_rule,
)
from memd.inject.format import PackedMessages, PromptPart, fence, pack, project_mark
from memd.inject.in_window import PromptWindow, SessionWindows
from memd.inject.isolation import Failed, describe_failures, isolate
from memd.inject.knowledge import FACT_LABELS
from memd.inject.knowledge import mark_of_assisted as mark_of_text
from memd.inject.prompt import Prompt, to_preference_line
from memd.org.org import FactCandidates
from memd.store.access import agents
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import briefs
from memd.store.session.briefs import RULE_KINDS, BriefMaterial, BriefRow, BriefScope
from memd.text.tokens import DefaultTokenEstimator
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, one_line

if TYPE_CHECKING:
    from memd.org.org import Org
    from memd.recall.recall import Recall

BRIEF_TOKENS = 800  # for fenced text, unless the request has a budget of its own
ENVIRONMENT = "environment"
NEW_FACTS_MAX = 3
ENTRY_CHARS, RULE_CHARS = 240, 160  # of a memory in a brief; commands are shown whole
RULE_WHOLE_CHARS = 200  # of a rule that is not cut, as little would be saved
SUPERSEDED_MAX, SUPERSEDED_CHARS = 3, 160
REPEATED_SHARE = 0.8  # of a line's words: a line that earlier ones cover so far is left out
DECIDED_KINDS = RULE_KINDS | {"decision", "correction"}
REQUEST_LABELS = ("Asked first:", "Asked last:", "Also asked:")
_WORD = re.compile(r"\w[\w./-]+\w")
RULES_SHARE = 0.35
ELSEWHERE_MAX = 5  # wishes of other projects
PART_SHARES = (1.0, RULES_SHARE, 0.15, 0.25, 0.15, 0.15, 1.0)
"""Shares of the digest, rules, wishes of other projects, new facts, superseded memories, earlier
open points, and the others."""


class BriefLine(NamedTuple):
    """One line of a brief; *id* is None for a superseded memory.

    In the label, *about* follows the kind and *mark* precedes it. *is_cut* says that the
    memory has more text. *at_us* is its time, 0 where none is told. *commands* are those of a
    memory that tells nothing else.
    """

    id: str | None
    kind: str
    text: str
    about: str = ""
    mark: str = ""
    is_cut: bool = False
    at_us: int = 0
    commands: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Briefs:
    """Writes session briefs."""

    db: Database
    clock: Clock
    recall: Recall
    org: Org
    windows: SessionWindows
    level: MemoryLevel
    """For agents without a level of their own."""
    warm: Callable[[], object] = bool
    """Loads the embedding model: a question usually follows the brief."""

    async def brief(self, caller: Caller, request: BriefRequest) -> Brief:
        """Return the brief of a session, within its budget; an empty one without any memory.

        Memories that the session has in its window already are left out; those that the brief
        holds whole are recorded as given (``in_window``).
        """
        self.warm()
        builder = _BriefBuilder(self, caller, request)
        prompt, window = builder.prompt, builder.window
        async with window.exclusive():
            if prompt.budget > 0:
                await builder.compose()
            window.note(builder.whole)
        left_out = {"in_window": len(window.left_out), "memories": builder.omitted}
        return Brief(
            messages=tuple(prompt.messages),
            items=tuple(builder.items),
            token_budget=prompt.budget,
            tokens_used=prompt.used,
            left_out=prompt.left_out.model_copy(update=left_out),
            in_window=tuple(window.left_out),
            degraded=describe_failures(builder.failed),
            warnings=prompt.warnings,
        )


@dataclass
class _BriefBuilder:
    """Composes one brief."""

    room: Briefs
    caller: Caller
    request: BriefRequest
    failed: Failed = field(default_factory=list)
    items: list[BriefItem] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    """The ids of the items that are shown whole: a prompt need not repeat them."""
    omitted: int = 0

    def __post_init__(self) -> None:
        budget = self.request.token_budget
        self.prompt = Prompt(PREPARE_TOKENS if budget is None else budget, DefaultTokenEstimator())
        self.window = PromptWindow(self.room.windows, self.caller, self.request)
        self.project_id = self.request.project_id or self.caller.project_id

    async def compose(self) -> None:
        policies, preferences, facts, material = await asyncio.gather(
            isolate(self._policies(), (), "policies", self.failed),
            isolate(self.room.recall.preferences(self.caller), (), "preferences", self.failed),
            isolate(
                self.room.org.find_candidates(self.caller, ""),
                FactCandidates(),
                "facts",
                self.failed,
            ),
            isolate(self._material(), BriefMaterial(), "memories", self.failed),
        )
        self.prompt.add_policies(policies)
        preferences = tuple(p for p in preferences if p.project_id in {None, self.project_id})
        shown = self.prompt.add_preferences(list(map(to_preference_line, preferences)))
        shown_values = {preferences[place].value for place in shown}
        rows, elsewhere = (
            [row for row in each if row.content not in shown_values]
            for each in (material.rows, material.elsewhere)
        )
        recent = _facts_since(facts, material.since_us)
        ids = [row.memory_id for row in (*rows, *elsewhere)] + [fact.id for fact in recent]
        new = await isolate(self.window.filter_unseen(ids), frozenset(ids), "window")
        rows, elsewhere = (
            [row for row in each if row.memory_id in new] for each in (rows, elsewhere)
        )
        if self.request.token_budget is None:
            self.prompt.budget = min(self.prompt.budget, self.prompt.used + BRIEF_TOKENS)
        digest = _digest_lines(rows, material)
        new_facts = [_fact_line(fact) for fact in recent if fact.id in new]
        rules = drop_repeats(list(map(_rule_line, rank_rules(rows))), digest)
        rules = rules[: self._count_fitting(rules)]
        rules.sort(key=lambda line: line.at_us, reverse=True)
        wishes = drop_repeats(list(map(_rule_line, rank_rules(elsewhere))), (*digest, *rules))
        shown_ids = {line.id for line in rules}
        memories = [_cut(_dated_line(row)) for row in rank_rows(rows)]
        memories = [line for line in memories if line.id not in shown_ids]
        memories = drop_repeats(memories, (*digest, *rules, *new_facts))
        open_lines = _open_lines(rows, digest)
        superseded = _superseded_lines(material)
        parts = [digest, rules, wishes[:ELSEWHERE_MAX], new_facts, superseded, open_lines, memories]
        fitting = self._pack(parts)
        self.omitted = sum(map(len, parts)) - sum(map(len, fitting.included))
        fitting_memories = [memories[place] for place in fitting.included[-1]]
        self._add([*parts[:-1], newest_first(fitting_memories)])

    def _count_fitting(self, rules: Sequence[BriefLine]) -> int:
        """Return how many of *rules* fit into their share; what is left competes with the rest."""
        room = int(self.prompt.tokens_left * RULES_SHARE)
        for count, line in enumerate(rules):
            room -= self.prompt.estimator.estimate_tokens(f"{fence(render_line(line))}\n")
            if room < 0:
                return count
        return len(rules)

    def _add(self, parts: Sequence[Sequence[BriefLine]]) -> None:
        """Add the lines that fit, and note which memories they show."""
        packed = self._pack(parts)
        self.prompt.messages.extend(packed.messages)
        self.prompt.used += packed.tokens
        for lines, taken in zip(parts, packed.included, strict=True):
            lines_in = [lines[place] for place in taken]
            self.items += [BriefItem(id=line.id, label=line.kind) for line in lines_in if line.id]
            self.whole += [line.id for line in lines_in if line.id and not line.is_cut]

    def _pack(self, parts: Sequence[Sequence[BriefLine]]) -> PackedMessages:
        """Pack the lines, each part within its share; a part may use what others left."""
        most = self.prompt.tokens_left
        return pack(
            [
                PromptPart([render_line(line) for line in lines], int(most * share))
                for lines, share in zip(parts, PART_SHARES, strict=True)
            ],
            estimator=self.prompt.estimator,
            token_budget=most,
            has_directive=self.prompt.has_directive,
        )

    async def _policies(self) -> tuple[str, ...]:
        policies = await self.room.org.list_policies(self.caller, limit=POLICIES_SHOWN_ITEMS_MAX)
        return tuple(redact(policy.content) for policy in policies)

    async def _material(self) -> BriefMaterial:
        caller, now_us = self.caller, self.room.clock.now_us()
        scope = BriefScope(caller.agent_id, self.request.session_id, self.project_id)

        def work(conn: Reading) -> BriefMaterial:
            level = agents.level(conn, caller.agent_id) or self.room.level
            return (
                BriefMaterial()
                if level is MemoryLevel.NONE
                else briefs.read_material(conn, scope, now_us)
            )

        return await self.room.db.read(work)


def drop_repeats(lines: Sequence[BriefLine], before: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* without those whose words are covered by *before* and by better lines.

    A rule, decision or correction is only covered by what is not older and no request: an older
    text in the same words may say the opposite, and a request is cut. Commands are only covered by
    the same commands: "pnpm exec playwright test" has all words of "pnpm test".
    """
    told_us: dict[str, int] = {}
    for part in map(_split_requests, before):
        for words, at_us in part:
            _note(told_us, words, at_us)
    told_commands: set[str] = set()
    new_lines: list[BriefLine] = []
    for line in lines:
        words = _words(line.text)
        since_us = line.at_us if line.kind in DECIDED_KINDS else 0
        known_count = sum(told_us.get(word, -1) >= since_us for word in words)
        is_new = known_count < REPEATED_SHARE * len(words)
        if line.commands:
            is_new = not line.commands <= told_commands
        if is_new:
            new_lines.append(line)
            told_commands |= line.commands
            _note(told_us, words, line.at_us)
    return new_lines


def _note(told_us: dict[str, int], words: Iterable[str], at_us: int) -> None:
    """Note that a line of *at_us* has *words*."""
    for word in words:
        told_us[word] = max(at_us, told_us.get(word, 0))


def _split_requests(line: BriefLine) -> Iterator[tuple[frozenset[str], int]]:
    """Yield the words of *line* and its time, which is 0 for the requests of a digest."""
    if line.kind != DIGEST:
        yield _words(line.text), line.at_us
        return
    for field_line in line.text.splitlines():
        is_request = field_line.startswith(REQUEST_LABELS)
        yield _words(field_line), 0 if is_request else line.at_us


def newest_first(lines: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* with those of each kind, at the places that they have, the newest first."""
    by_kind: dict[str, list[BriefLine]] = {}
    for line in sorted(lines, key=lambda line: line.at_us):
        by_kind.setdefault(line.kind, []).append(line)
    return [by_kind[line.kind].pop() for line in lines]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _digest_lines(rows: Sequence[BriefRow], material: BriefMaterial) -> list[BriefLine]:
    """Return this session's digest, which it has if its window was emptied, else the last one."""
    digests = [row for row in rows if row.kind == DIGEST]
    if not digests:
        return []
    own = [row for row in digests if row.session_key == material.own_key]
    last = own[0] if own else max(digests, key=lambda row: row.at_us)
    session = "this session" if own else "session"
    about = f" of {session}, {from_us(last.at_us):%Y-%m-%d}{_place(last)}"
    return [_memory_line(last)._replace(about=about)]


def _open_lines(rows: Sequence[BriefRow], shown: Sequence[BriefLine]) -> list[BriefLine]:
    """Return what earlier sessions than that of the digest *shown* left open."""
    ids = {line.id for line in shown}
    digests = [row for row in rows if row.kind == DIGEST and row.memory_id not in ids]
    return [
        BriefLine(
            point.digest.memory_id,
            "open",
            redact("; ".join(point.texts)),
            about=f" since {from_us(point.digest.at_us):%Y-%m-%d}{_place(point.digest)}",
            mark=_mark_of_point(point),
            is_cut=True,
        )
        for point in find_open_points(digests, rows)
    ]


def _facts_since(facts: FactCandidates, since_us: int) -> list[OrgFact]:
    return [fact for fact in facts.others if to_us(fact.created_at) >= since_us][:NEW_FACTS_MAX]


def _superseded_lines(material: BriefMaterial) -> list[BriefLine]:
    superseded = drop_continued(material.superseded, material.rows)
    texts = [one_line(redact(text)) for text in superseded[:SUPERSEDED_MAX]]
    short = [shorten(text, SUPERSEDED_CHARS, placeholder=" …") for text in texts]
    return [BriefLine(None, "superseded", text) for text in short]


def _mark_of_point(point: OpenPoints) -> str:
    """Return the mark of who said it: none for the user, unless the digest was rewritten since.

    A client may have rewritten it; then it has the digest's.
    """
    if point.by_user and point.digest.is_as_written:
        return ""
    return mark_of(Origin(point.digest.origin), Trust(point.digest.trust))


def _fact_line(fact: OrgFact) -> BriefLine:
    text = redact(fact.content)
    doubt = "" if fact.author.is_human else mark_of_text(text)
    label, at_us = FACT_LABELS[fact.category], to_us(fact.created_at)
    return BriefLine(fact.id, label, text, mark=doubt, at_us=at_us)


def _memory_line(row: BriefRow) -> BriefLine:
    mark = mark_of(Origin(row.origin), Trust(row.trust))
    text, kind = redact(row.content), row.kind or row.category
    commands = text.partition(": ")[2].split("; ") if row.purpose else ()
    return BriefLine(
        row.memory_id, kind, text, mark=mark, at_us=row.at_us, commands=frozenset(commands)
    )


def _dated_line(row: BriefRow) -> BriefLine:
    """Return the line of a memory with its day: of two that differ a reader sees the newer one."""
    return _memory_line(row)._replace(about=f" | {from_us(row.at_us):%Y-%m-%d}{_place(row)}")


def _place(row: BriefRow) -> str:
    """Return the mark of the project that a memory is of, "" for that of the brief."""
    return "" if row.project_id is None else project_mark(row.project_id)


def _rule_line(row: BriefRow) -> BriefLine:
    """Return the line of a rule: without what came of it on its day, a long one by its rule."""
    line = _dated_line(row)
    text = without_outcome(line.text)
    if len(text) > RULE_CHARS:
        text = state_rule(text)
    line = line._replace(text=text, is_cut=text != line.text)
    return line if len(text) <= RULE_WHOLE_CHARS else _cut(line, RULE_CHARS)


def _cut(line: BriefLine, chars_max: int = ENTRY_CHARS) -> BriefLine:
    """Return *line* with the beginning of a long text, so that a brief holds more memories."""
    if line.kind == ENVIRONMENT or len(line.text) <= chars_max:
        return line
    beginning = line.text[:chars_max].rsplit(maxsplit=1)[0]
    return line._replace(text=f"{beginning} …", is_cut=True)


def render_line(line: BriefLine) -> str:
    """Return the content of the line's fence; no line of the text begins like a label."""
    return f"{line.mark}[{line.kind}{line.about}] {body(line.text, tags=(ENTRY_TAG,))}"
