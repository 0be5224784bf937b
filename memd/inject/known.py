"""What is known beside memories and fits a question: facts, lessons, patterns that worked.

Facts are everybody's (SPEC 15), lessons and patterns an agent's own (SPEC 5a). They are
ranked and gated as memories are, each kind by itself (docs/decisions/0076).
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
from memd.guard.orders import is_doubtful
from memd.guard.outgoing import outgoing
from memd.inject.isolated import Failed, isolated
from memd.learn.playbook import as_text
from memd.org.org import Offered
from memd.recall.apart import Apart, Fitting, Ranker, Ranking

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


class KnownText(NamedTuple):
    """One text that fits. *label* says what it is, *mark* whose it is if it is not the owner's."""

    id: str
    label: str
    text: str
    relevance: float
    mark: str = ""


class Offers(NamedTuple):
    """What may fit one question, to be ranked."""

    facts: Offered = Offered()
    lessons: tuple[Apart, ...] = ()
    patterns: tuple[Apart, ...] = ()


class Fits(NamedTuple):
    """What fits one question, the likeliest of each kind first."""

    facts: tuple[KnownText, ...] = ()
    lessons: tuple[KnownText, ...] = ()
    patterns: tuple[KnownText, ...] = ()


@dataclass(frozen=True)
class Knowledge:
    """The room's needs, handed in by the daemon. *facts_max*: as many as one question brings."""

    ranker: Ranker
    org: Org
    learnt: Learn
    facts_max: int
    work: Work = field(default_factory=Work)

    async def offered(self, caller: Caller, query: str, failed: Failed) -> Offers:
        """Return what may fit, unranked; what fails is left out and named in *failed*.

        Costs three short reads: a prompt asks for it beside its memories. What naps saw
        cured is no pattern here: it is a memory, and found as one.
        """
        facts, lessons, patterns = await asyncio.gather(
            isolated(self.org.offered(caller, query), Offered(), "facts", failed),
            isolated(self.learnt.latest(caller, LESSONS_OFFERED_MAX), (), "lessons", failed),
            isolated(self.learnt.reported(caller, LESSONS_OFFERED_MAX), (), "playbook", failed),
        )
        return Offers(
            facts,
            tuple(Apart(each.id, each.lesson, to_us(each.timestamp)) for each in lessons),
            tuple(
                Apart(each.pattern_id, as_text(each), to_us(each.updated_at)) for each in patterns
            ),
        )

    async def fitting(self, query: str, offers: Offers, failed: Failed) -> Fits:
        """Return what of *offers* fits; what fails is left out and named in *failed*."""
        if not any((*offers.facts, offers.lessons, offers.patterns)):
            return Fits()

        def ranked(
            work: Awaitable[tuple[KnownText, ...]], what: str
        ) -> Awaitable[tuple[KnownText, ...]]:
            return isolated(work, (), what, failed)

        return Fits(
            *await asyncio.gather(
                ranked(self._facts(query, offers.facts), "facts"),
                ranked(self._learnt(query, LESSON, offers.lessons), "lessons"),
                ranked(self._learnt(query, PATTERN, offers.patterns), "playbook"),
            )
        )

    async def facts(self, caller: Caller, query: str) -> tuple[KnownText, ...]:
        """Return the facts that fit, at most *facts_max*."""
        return await self._facts(query, await self.org.offered(caller, query))

    async def _facts(self, query: str, offered: Offered) -> tuple[KnownText, ...]:
        facts = {fact.id: fact for fact in (*offered.by_words, *offered.others)}
        ranking = await self._ranked(query, facts)
        return (await self._known(facts, ranking.fitting))[: self.facts_max]

    async def any_facts(self, caller: Caller, query: str) -> bool:
        """Return whether there is any fact that the caller may be told."""
        return any(await self.org.offered(caller, query))

    async def searched(self, caller: Caller, query: str, limit: int) -> tuple[KnownText, ...]:
        """Return facts for who asks for them: those that fit, then those that share a word."""
        offered = await self.org.offered(caller, query)
        facts = {fact.id: fact for fact in (*offered.by_words, *offered.others)}
        ranking = await self._ranked(query, facts)
        fitting, by_words = set(ranking.fitting), {fact.id for fact in offered.by_words}
        chosen = [each for each in ranking.items if each in fitting or each.key in by_words]
        return (await self._known(facts, chosen))[:limit]

    async def _known(
        self, facts: dict[str, OrgFact], chosen: Sequence[Fitting]
    ) -> tuple[KnownText, ...]:
        chars = sum(len(facts[each.key].content) for each in chosen)
        return await self.work.weighed(chars, _known, facts, chosen)

    async def _learnt(
        self, query: str, label: str, offered: Sequence[Apart]
    ) -> tuple[KnownText, ...]:
        texts = {each.key: each for each in offered}
        ranking = await self.ranker.ranked(query, offered)
        chars = sum(len(each.text) for each in offered)
        texts_known = map(partial(_learnt, label, texts=texts), ranking.fitting)
        return await self.work.weighed(chars, tuple, texts_known)

    async def _ranked(self, query: str, facts: dict[str, OrgFact]) -> Ranking:
        texts = [Apart(fact.id, fact.content, to_us(fact.created_at)) for fact in facts.values()]
        return await self.ranker.ranked(query, texts)


def _known(facts: dict[str, OrgFact], chosen: Sequence[Fitting]) -> tuple[KnownText, ...]:
    return tuple(_fact(facts[each.key], each.relevance) for each in chosen)


def _fact(fact: OrgFact, relevance: float) -> KnownText:
    label, text = FACT_LABELS[fact.category], outgoing(fact.content)
    return KnownText(fact.id, label, text, relevance, "" if fact.author.is_human else mark(text))


def _learnt(label: str, fitting: Fitting, texts: dict[str, Apart]) -> KnownText:
    text = texts[fitting.key].text
    return KnownText(fitting.key, label, outgoing(text), fitting.relevance, mark(text))


def mark(text: str) -> str:
    """Return the mark of a fact, a lesson or a pattern that no person wrote."""
    return "[untrusted] " if is_doubtful(text) else ASSISTED_MARK
