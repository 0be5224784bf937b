"""A brief: what a session is told before it asks anything, or after its window was emptied.

Policies and preferences as in each prompt; then, fenced, how the last session ended, new
facts, what the latest sessions of the project left, what no longer holds. No question is
there to rank by, so how recent a thing is and what kind of thing it is decide. Nothing is
embedded: a few short reads. What fails is left out and named.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memd.base.clock import Clock, from_us, to_us
from memd.base.limits import POLICIES_SHOWN_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel, Origin, Trust
from memd.domain.inject import Brief, BriefItem, BriefRequest
from memd.domain.org.org import OrgFact
from memd.domain.trust import mark as mark_of
from memd.guard.outgoing import outgoing
from memd.inject.format import PromptPart, pack
from memd.inject.in_window import PromptWindow, SessionWindows
from memd.inject.isolated import Failed, isolated
from memd.inject.known import FACT_LABELS
from memd.inject.known import mark as mark_of_text
from memd.inject.prompt import Prompt, said_of
from memd.org.org import Offered
from memd.store.access import agents
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import briefs
from memd.store.session.briefs import Asker, BriefRow, Material
from memd.text.tokens import DefaultTokenEstimator
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, one_line

if TYPE_CHECKING:
    from memd.org.org import Org
    from memd.recall.recall import Recall

BRIEF_TOKENS = 800  # of what is fenced, however large the budget is
WORTH: Mapping[str, float] = MappingProxyType(
    {"correction": 2.0, "preference": 2.0, "constraint": 2.0, "environment": 2.0, "decision": 1.5}
)
"""What stands for good counts more than what came of a request, which counts 1."""
TOLD_WORTH = 2.0  # what somebody told on purpose, outside of any session
HALF_SESSIONS = 2.0  # so many sessions later it is worth half
DIGEST = "digest"
NEW_FACTS_MAX = 3
SUPERSEDED_MAX, SUPERSEDED_CHARS = 3, 160
SAID_SHARE = 0.8  # of a line's words: what others said so far, it need not say again
_WORD = re.compile(r"\w[\w./-]+\w")
SHARES = (1.0, 0.25, 0.15, 1.0)
"""Of the digest, new facts, what no longer holds, and all else."""


class BriefLine(NamedTuple):
    """One line of a brief; without an id it is of something that no longer holds.

    *about* stands behind the kind in the label, *mark* before it.
    """

    id: str | None
    kind: str
    text: str
    about: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Briefs:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    recall: Recall
    org: Org
    windows: SessionWindows
    level: MemoryLevel
    """Of agents that have none of their own."""
    warm: Callable[[], object] = bool
    """Has the embedding model loaded: whoever is briefed asks soon."""

    async def brief(self, caller: Caller, request: BriefRequest) -> Brief:
        """Return the brief of a session, within its budget; an empty one where nothing is known.

        What the session has in its window already is left out, and what it gives counts as
        given (``in_window``).
        """
        self.warm()
        making = _Making(self, caller, request)
        prompt, window = making.prompt, making.window
        async with window.turn():
            if request.token_budget > 0:
                await making.compose()
            window.note(item.id for item in making.items)
        left_out = {"in_window": len(window.left_out), "memories": making.spared}
        return Brief(
            messages=tuple(prompt.messages),
            items=tuple(making.items),
            token_budget=request.token_budget,
            tokens_used=prompt.used,
            left_out=prompt.left_out.model_copy(update=left_out),
            in_window=tuple(window.left_out),
            degraded=_degraded(making.failed),
            warnings=prompt.warnings,
        )


@dataclass
class _Making:
    """One brief in the making."""

    room: Briefs
    caller: Caller
    request: BriefRequest
    failed: Failed = field(default_factory=list)
    items: list[BriefItem] = field(default_factory=list)
    spared: int = 0

    def __post_init__(self) -> None:
        self.prompt = Prompt(self.request.token_budget, DefaultTokenEstimator())
        self.window = PromptWindow(self.room.windows, self.caller, self.request)

    async def compose(self) -> None:
        policies, preferences, facts, material = await asyncio.gather(
            isolated(self._policies(), (), "policies", self.failed),
            isolated(self.room.recall.preferences(self.caller), (), "preferences", self.failed),
            isolated(self.room.org.offered(self.caller, ""), Offered(), "facts", self.failed),
            isolated(self._material(), Material(), "memories", self.failed),
        )
        self.prompt.add_policies(policies)
        shown = self.prompt.add_preferences(list(map(said_of, preferences)))
        preference_names = {preferences[place].value for place in shown}
        rows = [row for row in material.rows if row.content not in preference_names]
        recent = _since(facts, material.since_us)
        ids = [*(row.memory_id for row in rows), *(fact.id for fact in recent)]
        new = await isolated(self.window.unread(ids), frozenset(ids), "window")
        rows = [row for row in rows if row.memory_id in new]
        digest = _digest(rows, material)
        known = [_fact(fact) for fact in recent if fact.id in new]
        best = [_line(row) for row in ranked(rows)]
        self._add([digest, known, _superseded(material), unsaid(best, (*digest, *known))])

    def _add(self, parts: Sequence[Sequence[BriefLine]]) -> None:
        """Add the lines that fit, each part within its share; what a share leaves is the next's."""
        most = min(self.prompt.left, BRIEF_TOKENS)
        packed = pack(
            [
                PromptPart([inner(line) for line in lines], int(most * share))
                for lines, share in zip(parts, SHARES, strict=True)
            ],
            estimator=self.prompt.estimator,
            token_budget=most,
            directed=self.prompt.directed,
        )
        self.prompt.messages.extend(packed.messages)
        self.prompt.used += packed.tokens
        for lines, taken in zip(parts, packed.taken, strict=True):
            lines_in = [lines[place] for place in taken]
            self.items += [BriefItem(id=line.id, label=line.kind) for line in lines_in if line.id]
            self.spared += len(lines) - len(taken)

    async def _policies(self) -> tuple[str, ...]:
        policies = await self.room.org.list_policies(self.caller, limit=POLICIES_SHOWN_ITEMS_MAX)
        return tuple(outgoing(policy.content) for policy in policies)

    async def _material(self) -> Material:
        caller, request, now_us = self.caller, self.request, self.room.clock.now_us()
        project_id = request.project_id or caller.project_id
        asker = Asker(caller.agent_id, request.session_id, project_id)

        def work(conn: Reading) -> Material:
            level = agents.level(conn, caller.agent_id) or self.room.level
            return Material() if level is MemoryLevel.NONE else briefs.material(conn, asker, now_us)

        return await self.room.db.read(work)


def ranked(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return what is no digest, the most worth knowing first.

    By kind, halved with every two sessions of the project that went on after it.
    """
    ends: dict[int, int] = {}
    for row in rows:
        if row.kind is not None and row.session_key is not None:
            ends[row.session_key] = max(row.at_us, ends.get(row.session_key, 0))

    def worth(row: BriefRow) -> tuple[float, int]:
        at_us = row.at_us
        if row.kind is not None and row.session_key is not None:
            at_us = ends[row.session_key]
        later = sum(end_us > at_us for end_us in ends.values())
        kind = TOLD_WORTH if row.kind is None else WORTH.get(row.kind, 1.0)
        return kind * 0.5 ** (later / HALF_SESSIONS), row.at_us

    return sorted((row for row in rows if row.kind != DIGEST), key=worth, reverse=True)


def unsaid(lines: Sequence[BriefLine], before: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* without those that say in other order what *before* and better ones said."""
    terms = {word for line in before for word in _words(line.text)}
    kept: list[BriefLine] = []
    for line in lines:
        words = _words(line.text)
        if len(words & terms) < SAID_SHARE * len(words):
            kept.append(line)
            terms |= words
    return kept


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _digest(rows: Sequence[BriefRow], material: Material) -> list[BriefLine]:
    """Return the digest of this session, where its window was emptied, else of the last one."""
    digests = [row for row in rows if row.kind == DIGEST]
    if not digests:
        return []
    own = [row for row in digests if row.session_key == material.own_key]
    last = own[0] if own else max(digests, key=lambda row: row.at_us)
    session = "this session" if own else "session"
    return [_line(last)._replace(about=f" of {session}, {from_us(last.at_us):%Y-%m-%d}")]


def _since(facts: Offered, since_us: int) -> list[OrgFact]:
    return [fact for fact in facts.others if to_us(fact.created_at) >= since_us][:NEW_FACTS_MAX]


def _superseded(material: Material) -> list[BriefLine]:
    texts = [one_line(outgoing(text)) for text in material.superseded[:SUPERSEDED_MAX]]
    short = [shorten(text, SUPERSEDED_CHARS, placeholder=" …") for text in texts]
    return [BriefLine(None, "superseded", text) for text in short]


def _fact(fact: OrgFact) -> BriefLine:
    text = outgoing(fact.content)
    doubt = "" if fact.author.is_human else mark_of_text(text)
    return BriefLine(fact.id, FACT_LABELS[fact.category], text, mark=doubt)


def _line(row: BriefRow) -> BriefLine:
    mark = mark_of(Origin(row.origin), Trust(row.trust))
    return BriefLine(row.memory_id, row.kind or row.category, outgoing(row.content), mark=mark)


def inner(line: BriefLine) -> str:
    """Return what stands inside the line's fence; no line of the text begins like a label."""
    return f"{line.mark}[{line.kind}{line.about}] {body(line.text, tags=(ENTRY_TAG,))}"


def _degraded(failed: Failed) -> str | None:
    return "; ".join(f"{what} failed and is left out" for what in dict.fromkeys(failed)) or None
