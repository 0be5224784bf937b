"""Compose session briefs: context for a session that begins, or whose window was emptied.

A brief begins with policies and preferences, like each prompt. Fenced texts follow: the digest of
the last session, the project's rules, memories of other projects that hold everywhere, new facts,
superseded memories, open points of earlier sessions, and memories of the latest sessions. There is
no question, so memories are ranked by age and kind. A brief takes a few short reads and no
embedding. A source that fails is left out and named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memd.base.clock import Clock
from memd.base.limits import POLICIES_SHOWN_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel
from memd.domain.inject import PREPARE_TOKENS, Brief, BriefItem, BriefRequest
from memd.guard.redaction import redact
from memd.inject.brief.lines import (
    BriefLine,
    cut_line,
    dated_line,
    digest_lines,
    drop_repeats,
    fact_line,
    facts_since,
    newest_first,
    open_lines,
    render_line,
    rule_line,
    superseded_lines,
)
from memd.inject.brief.outdated_rules import current_rows
from memd.inject.brief.rows import rank_elsewhere, rank_rows, rank_rules
from memd.inject.format import PackedMessages, PromptPart, pack, to_preference_line
from memd.inject.isolation import Failed, describe_failures, isolate
from memd.inject.prompt import Prompt
from memd.inject.session_windows import PromptWindow, SessionWindows
from memd.org.org import FactCandidates
from memd.store.access import agents
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import briefs
from memd.store.session.briefs import BriefMaterial, BriefRow, BriefScope
from memd.text.tokens import DefaultTokenEstimator
from memd.text.words import tells_only_secret

if TYPE_CHECKING:
    from memd.org.org import Org
    from memd.recall.recall import Recall

BRIEF_TOKENS = 1_200
"""Tokens of the fenced texts, unless the request has a budget."""
RULES_SHARE = 0.35
RULES_MAX = 40
"""Rules that are considered."""
ELSEWHERE_MAX = 5
"""Memories of other projects."""
PART_SHARES = (1.0, RULES_SHARE, 0.15, 0.25, 0.15, 0.15, 1.0)
"""Shares of the budget for the digest, rules, memories of other projects, new facts, superseded
memories, open points of earlier sessions, and other memories, in this order."""


@dataclass(frozen=True)
class Briefs:
    """Writes session briefs."""

    db: Database
    clock: Clock
    recall: Recall
    org: Org
    windows: SessionWindows
    level: MemoryLevel
    """The memory level of agents without their own setting."""
    warm: Callable[[], object] = bool
    """Starts to load the embedding model, because a question usually follows the brief."""

    async def brief(self, caller: Caller, request: BriefRequest) -> Brief:
        """Return the brief of a session, within its budget; it is empty without any memory.

        Memories that the session has in its window already are left out. Those that the brief
        contains in full are recorded as part of the window.
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
            standing=prompt.standing,
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
    """The ids of the items that are contained in full, so that prompts need not repeat them."""
    omitted: int = 0
    """The number of lines that did not fit."""

    def __post_init__(self) -> None:
        budget = self.request.token_budget
        self.prompt = Prompt(PREPARE_TOKENS if budget is None else budget, DefaultTokenEstimator())
        self.window = PromptWindow(self.room.windows, self.caller, self.request)
        self.project_id = self.request.project_id or self.caller.project_id

    async def compose(self) -> None:
        """Gather all sources, and add their lines that fit."""
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
        indexes = self.prompt.add_preferences(list(map(to_preference_line, preferences)))
        shown_values = {preferences[index].value for index in indexes}
        rows, elsewhere = (
            [
                row
                for row in group
                if row.content not in shown_values and not tells_only_secret(redact(row.content))
            ]
            for group in (material.rows, material.elsewhere)
        )
        recent = facts_since(facts, material.since_us)
        ids = [row.memory_id for row in (*rows, *elsewhere)] + [fact.id for fact in recent]
        new = await isolate(self.window.filter_unseen(ids), frozenset(ids), "window")
        rows, elsewhere = (
            [row for row in group if row.memory_id in new] for group in (rows, elsewhere)
        )
        if self.request.token_budget is None:
            self.prompt.budget = min(self.prompt.budget, self.prompt.used + BRIEF_TOKENS)
        digest = digest_lines(rows, material)
        new_facts = [fact_line(fact) for fact in recent if fact.id in new]
        current = current_rows(rows, self.room.clock.now_us())
        rules = self._rules(current, digest)
        others = list(map(rule_line, rank_elsewhere(elsewhere)))
        others = drop_repeats(others, (*digest, *rules))[:ELSEWHERE_MAX]
        shown_ids = {line.id for line in rules}
        memories = [cut_line(dated_line(row)) for row in rank_rows(current)]
        memories = [line for line in memories if line.id not in shown_ids]
        memories = drop_repeats(memories, (*digest, *rules, *new_facts))
        open_points = open_lines(rows, digest)
        superseded = superseded_lines(material)
        parts = [digest, rules, others, new_facts, superseded, open_points, memories]
        fitting = self._pack(parts)
        self.omitted = sum(map(len, parts)) - sum(map(len, fitting.included))
        fitting_memories = [memories[place] for place in fitting.included[-1]]
        self._add([*parts[:-1], newest_first(fitting_memories)])

    def _rules(self, rows: Sequence[BriefRow], digest: Sequence[BriefLine]) -> list[BriefLine]:
        """Return the rules that fit after the *digest*, newest first.

        The others are ranked with the remaining memories.
        """
        lines = drop_repeats(list(map(rule_line, rank_rules(rows)[:RULES_MAX])), digest)
        fitting = [lines[place] for place in self._pack([digest, lines]).included[1]]
        return sorted(fitting, key=lambda line: line.at_us, reverse=True)

    def _add(self, parts: Sequence[Sequence[BriefLine]]) -> None:
        """Add the lines that fit, and record the memories that they show."""
        packed = self._pack(parts)
        self.prompt.messages.extend(packed.messages)
        self.prompt.used += packed.tokens
        for lines, indexes in zip(parts, packed.included, strict=True):
            included = [lines[index] for index in indexes]
            self.items += [BriefItem(id=line.id, label=line.kind) for line in included if line.id]
            self.whole += [line.id for line in included if line.id and not line.is_cut]

    def _pack(self, parts: Sequence[Sequence[BriefLine]]) -> PackedMessages:
        """Pack *parts*, which are the first of PART_SHARES, each up to its share of the budget."""
        tokens = self.prompt.tokens_left
        return pack(
            [
                PromptPart([render_line(line) for line in lines], int(tokens * share))
                for lines, share in zip(parts, PART_SHARES, strict=False)
            ],
            estimator=self.prompt.estimator,
            token_budget=tokens,
            has_directive=self.prompt.has_directive,
        )

    async def _policies(self) -> tuple[str, ...]:
        policies = await self.room.org.list_policies(self.caller, limit=POLICIES_SHOWN_ITEMS_MAX)
        return tuple(redact(policy.content) for policy in policies)

    async def _material(self) -> BriefMaterial:
        caller, now_us = self.caller, self.room.clock.now_us()
        scope = BriefScope(caller.agent_id, self.request.session_id, self.project_id)

        def work(conn: Reading) -> BriefMaterial:
            level = agents.level_of(conn, caller.agent_id) or self.room.level
            return (
                BriefMaterial()
                if level is MemoryLevel.NONE
                else briefs.read_material(conn, scope, now_us)
            )

        return await self.room.db.read(work)
