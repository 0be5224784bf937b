"""Synthesize one block about a question from all of an agent's sources (SPEC 5).

Learnings, playbook, conversation, summaries, the graph and facts each contribute a few fragments.
The synthesizer selects the best of them. A source that fails is left out and named.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memd.base.clock import Clock, from_us
from memd.base.limits import SUMMARIES_READ_ITEMS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import Origin, Trust
from memd.domain.ingest import SessionMessage
from memd.domain.learn import PlaybookQuery
from memd.domain.recall import RecallRequest, SynthesisRequest, SynthesisResult
from memd.domain.trust import mark, mark_of_role
from memd.guard.suspicion import is_doubtful
from memd.inject.isolation import Failed, describe_failures, isolate
from memd.inject.knowledge import Knowledge
from memd.inject.synthesizer import (
    BASE_RELEVANCE,
    MemoryFragment,
    MemorySynthesizer,
    render_line,
    tokens_of,
)
from memd.learn.playbook import as_text
from memd.recall.answer import mark_of_chunk
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import lineage
from memd.store.memory.lineage import SummaryRow
from memd.text.words import words_of
from memd.view.view import ENTRY_TAG, untrusted_content_directive

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions
    from memd.learn.learn import Learn
    from memd.org.graph import Graph
    from memd.recall.recall import Recall

# Fragments of each source at most.
LEARNINGS = 5  # SPEC 5.14
PATTERNS = 3  # SPEC 5a.2
RECALLED = 12
MESSAGES = 6
RECALL_TOKENS = 4500
FRAGMENT_DIVISOR = 2
"""A fragment may take half of the budget at most."""


@dataclass(frozen=True)
class Synthesis:
    """Synthesizes blocks; sources that are None are not used."""

    db: Database
    clock: Clock
    recall: Recall
    learn: Learn
    sessions: Sessions
    work: Work
    graph: Graph | None = None
    knowledge: Knowledge | None = None

    async def block(self, caller: Caller, request: SynthesisRequest) -> SynthesisResult:
        """Return one block for a question, and its number of fragments of each source.

        If the request has fragments, they replace all sources, as in the defining documents.
        """
        failed: Failed = []
        left_out = 0
        if request.fragments is None:
            gathered = await self._gather(_caller_for(caller, request), request.query, failed)
            fragments = [fragment for fragment in gathered if _fits(fragment, request.max_tokens)]
            left_out = len(gathered) - len(fragments)
        else:
            fragments = [MemoryFragment(**fragment.model_dump()) for fragment in request.fragments]
        synthesizer = MemorySynthesizer(request.max_tokens)
        synthesizer.add(fragments)
        chars = sum(len(fragment.content) for fragment in fragments)
        selected = await self.work.run_sized(chars, synthesizer.select, request.query)
        lines = [render_line(fragment) for fragment in selected]
        fenced = any(fragment.untrusted for fragment in selected)
        return SynthesisResult(
            block="\n".join(lines),
            tokens=sum(map(tokens_of, lines)),
            sources=dict(Counter(fragment.source for fragment in selected)),
            left_out=left_out + len(fragments) - len(selected),
            directive=untrusted_content_directive((ENTRY_TAG,)) if fenced else None,
            degraded=describe_failures(failed),
        )

    async def synthesize(self, caller: Caller, query: str, max_tokens: int) -> str:
        """Return the block without fences, for a prompt that fences the whole block.

        Untrusted lines still have their marks.
        """
        fragments = [
            replace(fragment, untrusted=False) for fragment in await self._gather(caller, query, [])
        ]
        synthesizer = MemorySynthesizer(max_tokens)
        synthesizer.add(fragment for fragment in fragments if _fits(fragment, max_tokens))
        return synthesizer.synthesize(query)

    async def _gather(self, caller: Caller, query: str, failed: Failed) -> list[MemoryFragment]:
        """Return the fragments of all sources in a fixed order.

        A summary that was also recalled occurs once. Adds the names of failed sources to *failed*.
        """
        sources: dict[str, Callable[[Caller, str], Awaitable[list[MemoryFragment]]]] = {
            "learnings": self._learnings,
            "playbook": self._playbook,
            "conversation": self._conversation,
            "summaries": self._summaries,
            "graph": self._graph,
            "facts": self._facts,
        }
        groups = await asyncio.gather(
            *(isolate(gather(caller, query), [], name, failed) for name, gather in sources.items())
        )
        summaries = {fragment.content for fragment in groups[list(sources).index("summaries")]}
        return [
            fragment
            for fragments in groups
            for fragment in fragments
            if fragment.source != "conversation" or fragment.content not in summaries
        ]

    async def _learnings(self, caller: Caller, query: str) -> list[MemoryFragment]:
        """Return the lessons that share most words with the question, of equals the newest."""
        query_words = words_of(query)
        lessons = list(await self.learn.latest(caller))
        lessons.sort(key=lambda lesson: -len(query_words & words_of(lesson.lesson)))
        return [
            _learnt_fragment("learnings", lesson.lesson, lesson.timestamp.isoformat())
            for lesson in lessons[:LEARNINGS]
        ]

    async def _playbook(self, caller: Caller, query: str) -> list[MemoryFragment]:
        request = PlaybookQuery(query=query if query.strip() else None, limit=PATTERNS)
        return [
            _learnt_fragment(
                "playbook",
                as_text(pattern),
                pattern.updated_at.isoformat(),
                quotes_tool=pattern.memory_id is not None,
            )
            for pattern in await self.learn.playbook(caller, request)
        ]

    async def _conversation(self, caller: Caller, query: str) -> list[MemoryFragment]:
        """Return the recalled memories and the last messages of the caller's session."""
        recalled = await self._recall(caller, query) if query.strip() else []
        messages: Sequence[SessionMessage] = ()
        if caller.session_id is not None:
            messages = await self.sessions.recent(caller, caller.session_id, MESSAGES)
        return recalled + [
            _fragment(
                "conversation",
                message.text,
                (message.said_at or message.kept_at).isoformat(),
                mark_of_role(message.role),
            )
            for message in messages
            if not message.damaged
        ]

    async def _recall(self, caller: Caller, query: str) -> list[MemoryFragment]:
        request = RecallRequest(
            query=query, top_k=RECALLED, token_budget=RECALL_TOKENS, show_sources=True
        )
        result = await self.recall.recall(caller, request)
        return [
            _fragment(
                "conversation", chunk.content, chunk.created_at.isoformat(), mark_of_chunk(chunk)
            )
            for chunk in result.memories
        ]

    async def _summaries(self, caller: Caller, query: str) -> list[MemoryFragment]:
        del query

        def work(conn: Reading) -> list[SummaryRow]:
            agent_key = names.agent_key(conn, caller.agent_id)
            now_us, most = self.clock.now_us(), SUMMARIES_READ_ITEMS_MAX
            return lineage.list_latest(conn, agent_key, caller.project_id, now_us, most)

        return [
            _fragment(
                "summaries",
                row.content,
                from_us(row.created_at_us).isoformat(),
                mark(Origin(row.origin), Trust(row.trust)),
            )
            for row in await self.db.read(work)
        ]

    async def _facts(self, caller: Caller, query: str) -> list[MemoryFragment]:
        """Return the facts that fit; the source of a fragment is the kind of its fact."""
        if self.knowledge is None:
            return []
        return [
            _fragment(fact.label, fact.text, "", fact.mark, BASE_RELEVANCE["facts"])
            for fact in await self.knowledge.find_facts(caller, query)
        ]

    async def _graph(self, caller: Caller, query: str) -> list[MemoryFragment]:
        if self.graph is None:
            return []
        return [
            _fragment("graph", line, "", "[untrusted] ")
            for line in await self.graph.render_lines(caller, query)
        ]


def _caller_for(caller: Caller, request: SynthesisRequest) -> Caller:
    return replace(
        caller,
        session_id=request.session_id or caller.session_id,
        project_id=request.project_id or caller.project_id,
    )


def _fragment(
    source: str, content: str, timestamp: str, mark: str, relevance: float | None = None
) -> MemoryFragment:
    """Return a fragment; it is untrusted if it has a *mark*, as texts of the owner have none."""
    relevance = BASE_RELEVANCE[source] if relevance is None else relevance
    return MemoryFragment(source, content, relevance, timestamp, bool(mark), mark)


def _learnt_fragment(
    source: str, content: str, timestamp: str, *, quotes_tool: bool = False
) -> MemoryFragment:
    """Return the fragment of a lesson or pattern, with a mark if it is untrusted.

    It is untrusted if it reads like an order, or if it quotes the output of a tool.
    """
    untrusted = quotes_tool or is_doubtful(content)
    return _fragment(source, content, timestamp, "[untrusted] " if untrusted else "")


def _fits(fragment: MemoryFragment, max_tokens: int) -> bool:
    """Return whether a fragment takes at most half of the budget.

    The synthesizer stops at the first fragment that does not fit, so larger ones are left out.
    """
    return tokens_of(render_line(fragment)) * FRAGMENT_DIVISOR <= max_tokens
