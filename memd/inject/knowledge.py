"""Find the facts, lessons and patterns that fit a question: knowledge besides memories.

Facts are shared by everybody (SPEC 15); lessons and patterns belong to an agent (SPEC 5a). Each
kind is ranked and gated separately, like memories (docs/decisions/0076).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memd.base.clock import to_us
from memd.base.limits import LESSONS_OFFERED_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.org.org import OrgFact
from memd.domain.trust import ASSISTED_MARK
from memd.guard.redaction import redact
from memd.guard.suspicion import is_doubtful
from memd.inject.isolation import Failed, isolate
from memd.learn.playbook import as_text
from memd.org.org import FactCandidates
from memd.recall.text_ranker import RankableText, RankedText, TextRanker, TextRanking

if TYPE_CHECKING:
    from memd.learn.learn import Learn
    from memd.org.org import Org

FACT_LABELS = MappingProxyType(
    {
        OrgFactCategory.CORE_POLICY: "policy",
        OrgFactCategory.ADR: "decision",
        OrgFactCategory.PROCEDURE: "procedure",
        OrgFactCategory.CONVENTION: "convention",
        OrgFactCategory.ENTITY_DEFINITION: "definition",
    }
)
LESSON, PATTERN = "lesson", "pattern"


class KnowledgeItem(NamedTuple):
    """A text that fits a question.

    *label* names its kind. *mark* is "" for a text of the owner. *period* is the part of the label
    that says since and until when it holds, if that is known.
    """

    id: str
    label: str
    text: str
    relevance: float
    mark: str = ""
    period: str = ""


class KnowledgeCandidates(NamedTuple):
    """Texts that may fit one question, not ranked yet."""

    facts: FactCandidates = FactCandidates()
    lessons: tuple[RankableText, ...] = ()
    patterns: tuple[RankableText, ...] = ()


class RelevantKnowledge(NamedTuple):
    """Texts that fit one question, the most relevant of each kind first."""

    facts: tuple[KnowledgeItem, ...] = ()
    lessons: tuple[KnowledgeItem, ...] = ()
    patterns: tuple[KnowledgeItem, ...] = ()


@dataclass(frozen=True)
class Knowledge:
    """Finds and ranks facts, lessons and patterns; at most *facts_max* facts per question."""

    ranker: TextRanker
    org: Org
    learn: Learn
    facts_max: int
    work: Work = field(default_factory=Work)

    async def find_candidates(
        self, caller: Caller, query: str, failed: Failed
    ) -> KnowledgeCandidates:
        """Return the candidates; a source that fails is left out and added to *failed*.

        This takes three short reads. Patterns are those that clients reported; a fix that a nap
        observed is a memory, and is recalled as one.
        """
        facts, lessons, patterns = await asyncio.gather(
            isolate(self.org.find_candidates(caller, query), FactCandidates(), "facts", failed),
            isolate(self.learn.latest(caller, LESSONS_OFFERED_MAX), (), "lessons", failed),
            isolate(
                self.learn.reported_patterns(caller, LESSONS_OFFERED_MAX), (), "playbook", failed
            ),
        )
        return KnowledgeCandidates(
            facts,
            tuple(RankableText(item.id, item.lesson, to_us(item.timestamp)) for item in lessons),
            tuple(
                RankableText(item.pattern_id, as_text(item), to_us(item.updated_at))
                for item in patterns
            ),
        )

    async def select_relevant(
        self, query: str, candidates: KnowledgeCandidates, failed: Failed
    ) -> RelevantKnowledge:
        """Return the *candidates* that fit; a kind that fails is left out and added to *failed*."""
        facts, lessons, patterns = candidates
        if not any((*facts, lessons, patterns)):
            return RelevantKnowledge()

        def attempt(
            work: Awaitable[tuple[KnowledgeItem, ...]], kind: str
        ) -> Awaitable[tuple[KnowledgeItem, ...]]:
            return isolate(work, (), kind, failed)

        return RelevantKnowledge(
            *await asyncio.gather(
                attempt(self._select_facts(query, facts), "facts"),
                attempt(self._select_lessons(query, LESSON, lessons), "lessons"),
                attempt(self._select_lessons(query, PATTERN, patterns), "playbook"),
            )
        )

    async def find_facts(self, caller: Caller, query: str) -> tuple[KnowledgeItem, ...]:
        """Return at most *facts_max* facts that fit."""
        return await self._select_facts(query, await self.org.find_candidates(caller, query))

    async def has_facts(self, caller: Caller, query: str) -> bool:
        """Return whether there is any fact, besides policies, that the caller may read."""
        return any(await self.org.find_candidates(caller, query))

    async def search_facts(
        self, caller: Caller, query: str, limit: int
    ) -> tuple[KnowledgeItem, ...]:
        """Return at most *limit* facts that fit *query* or share a word with it, best first."""
        candidates = await self.org.find_candidates(caller, query)
        facts = _by_version((*candidates.by_words, *candidates.newest))
        ranking = await self._rank_facts(query, facts)
        relevant, by_words = set(ranking.relevant), _by_version(candidates.by_words)
        matches = [item for item in ranking.items if item in relevant or item.key in by_words]
        return (await self._to_items(facts, matches))[:limit]

    async def _select_facts(
        self, query: str, candidates: FactCandidates
    ) -> tuple[KnowledgeItem, ...]:
        facts = _by_version((*candidates.by_words, *candidates.newest))
        ranking = await self._rank_facts(query, facts)
        return (await self._to_items(facts, ranking.relevant))[: self.facts_max]

    async def _rank_facts(self, query: str, facts: dict[str, OrgFact]) -> TextRanking:
        texts = [
            RankableText(key, fact.content, to_us(fact.created_at)) for key, fact in facts.items()
        ]
        return await self.ranker.rank(query, texts)

    async def _to_items(
        self, facts: dict[str, OrgFact], ranked: Sequence[RankedText]
    ) -> tuple[KnowledgeItem, ...]:
        chars = sum(len(facts[item.key].content) for item in ranked)
        return await self.work.run_sized(chars, _fact_items, facts, ranked)

    async def _select_lessons(
        self, query: str, label: str, candidates: Sequence[RankableText]
    ) -> tuple[KnowledgeItem, ...]:
        texts = {candidate.key: candidate for candidate in candidates}
        ranking = await self.ranker.rank(query, candidates)
        chars = sum(len(candidate.text) for candidate in candidates)
        items = map(partial(_lesson_item, label, texts=texts), ranking.relevant)
        return await self.work.run_sized(chars, tuple, items)


def _by_version(facts: Sequence[OrgFact]) -> dict[str, OrgFact]:
    """Return *facts* by a key of their version, of which there may be several."""
    return {f"{fact.id} {fact.version}": fact for fact in facts}


def _fact_items(
    facts: dict[str, OrgFact], ranked: Sequence[RankedText]
) -> tuple[KnowledgeItem, ...]:
    return tuple(_fact_item(facts[item.key], item.relevance) for item in ranked)


def _fact_item(fact: OrgFact, relevance: float) -> KnowledgeItem:
    label, text = FACT_LABELS[fact.category], redact(fact.content)
    mark = "" if fact.author.is_human else mark_of_assisted(text)
    return KnowledgeItem(fact.id, label, text, relevance, mark, _period(fact))


def _period(fact: OrgFact) -> str:
    """Return the part of a label that says since and until when a fact holds."""
    days = " ".join(
        f"{word} {time:%Y-%m-%d}"
        for word, time in (("since", fact.valid_from), ("until", fact.valid_to))
        if time is not None
    )
    return f" | {days}" if days else ""


def _lesson_item(label: str, ranked: RankedText, texts: dict[str, RankableText]) -> KnowledgeItem:
    text = texts[ranked.key].text
    mark = mark_of_assisted(text)
    return KnowledgeItem(ranked.key, label, redact(text), ranked.relevance, mark)


def mark_of_assisted(text: str) -> str:
    """Return the mark of a fact, a lesson or a pattern that no person wrote."""
    return "[untrusted] " if is_doubtful(text) else ASSISTED_MARK
