"""Publish, retract and query organisational facts, and read their history (SPEC 15).

The author of a write is that of the caller's key, or one that the calling code has verified; a
request cannot name an author. A write, its audit row and the statements extracted from it are one
transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice, zip_longest
from typing import NamedTuple

from memd.base import log
from memd.base.clock import Clock, from_us, to_us
from memd.base.errors import (
    HumanFactError,
    MemdError,
    OrgMemoryWriteError,
)
from memd.base.ids import Ids
from memd.base.limits import FACTS_LOOKED_AT_MAX, FACTS_OFFERED_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.inject import PREPARE_TOKENS, policies_tokens
from memd.domain.org.org import (
    HUMAN,
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from memd.domain.settings.org import OrgMemoryConfig
from memd.domain.trust import SecretsPolicy
from memd.guard.secrets import admit, refuse_kinds, screen_name
from memd.guard.suspicion import refuse_orders
from memd.org import fact_reader, temporal
from memd.org.access import author_of, readable_categories, require_write_access
from memd.org.fact_reader import category_access
from memd.org.history import Past
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.org import org, org_facts, proofs
from memd.store.org.org import FactContent, Stamp
from memd.store.org.org_facts import OperationRow, SnapshotRow


class FactCandidates(NamedTuple):
    """Facts that may fit a question: those that share words with it, and the newest others."""

    by_words: tuple[OrgFact, ...] = ()
    newest: tuple[OrgFact, ...] = ()


GraphWalk = Callable[[Caller, str, int], Awaitable[tuple[str, ...]]]
"""Returns ids of facts on paths from the things in a context, nearest first, up to a limit."""


@dataclass(frozen=True)
class Org:
    """Reads and writes organisational facts."""

    db: Database
    clock: Clock
    ids: Ids
    config: OrgMemoryConfig = field(default_factory=OrgMemoryConfig)
    secrets: SecretsPolicy = "redact"
    work: Work = field(default_factory=Work)
    walk: GraphWalk | None = None
    """Finds the facts that the backend ``graph_rag`` adds to a search by words."""

    @property
    def past(self) -> Past:
        """Queries of the same facts at other times."""
        return Past(db=self.db, clock=self.clock, config=self.config)

    def with_config(self, config: OrgMemoryConfig) -> Org:
        """Return a copy with other settings."""
        return replace(self, config=config)

    # Writing.

    async def write(
        self,
        caller: Caller,
        request: OrgFactWriteRequest,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> str:
        """Publish a fact, or the next version of one, and return its id after COMMIT.

        *author* defaults to the author of the caller's key. Moving a fact to another category
        needs write access to both. Raises OrgMemoryAccessDeniedError, HumanFactError when a key
        changes a human's fact, OrgMemoryWriteError for an unknown *fact_id*, SecretRefusedError,
        and QuarantinedError for a text that gives orders and is not by a human (PROMISES H46).
        """
        stamp = self.stamp(caller, author, signature)
        content = await self.screen_content(request)
        fact_id = request.fact_id or self.ids.new()
        rules = self.config.write_access

        def work(conn: Writing) -> str:
            previous = org.get_state(conn, fact_id)
            if request.fact_id is not None and previous is None:
                raise OrgMemoryWriteError(
                    "no fact has this id", field="fact_id", hint="leave it out for a new fact"
                )
            if previous is not None:
                require_write_access(rules, previous.category, stamp.author)
                if author is None:
                    _require_human_for_human_fact(conn, fact_id, stamp.author)
            require_write_access(rules, content.category, stamp.author)
            if not stamp.author.is_human:
                refuse_orders(caller, content=content.content, tags=" ".join(content.tags))
            temporal.learn(conn, org.publish(conn, fact_id, content, stamp))
            return fact_id

        written = await self.db.write(caller, work, reply=str)
        if content.category is OrgFactCategory.CORE_POLICY:
            with suppress(MemdError):  # the fact is committed; the warning is optional
                await self._warn_of_many_policies()
        return written

    async def _warn_of_many_policies(self) -> None:
        """Log a warning when all policies together do not fit into a prompt of default size."""
        policy = [OrgFactCategory.CORE_POLICY]
        at_us = self.clock.now_us()
        rows = await self.db.read(lambda conn: org_facts.list_newest(conn, policy, -1, at_us=at_us))
        texts = [*self.config.core_policies, *(row.content for row in rows)]
        tokens = policies_tokens(texts)
        if tokens > PREPARE_TOKENS:
            log.warning("policies exceed a default prompt", policies=len(texts), tokens=tokens)

    async def retract(
        self,
        caller: Caller,
        fact_id: str,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> bool:
        """Retract a fact; return False, without a write, if it is unknown or retracted.

        Needs write access to the fact's category. Raises OrgMemoryAccessDeniedError, and
        HumanFactError when a key retracts a human's fact.
        """
        stamp = self.stamp(caller, author, signature)

        def work(conn: Writing) -> bool:
            state = org.get_state(conn, fact_id)
            if state is None:
                return False
            require_write_access(self.config.write_access, state.category, stamp.author)
            if author is None:
                _require_human_for_human_fact(conn, fact_id, stamp.author)
            operation = org.retract(conn, fact_id, stamp)
            if operation is not None:
                temporal.learn(conn, operation)
            return operation is not None

        return await self.db.write(caller, work, reply=bool)

    def stamp(self, caller: Caller, author: OrgFactAuthor | None, signature: bytes | None) -> Stamp:
        """Return the stamp of a write: its author, client, time and ids.

        *author* defaults to the author of the caller's key.
        """
        return Stamp(
            operation_id=self.ids.new(),
            author=author or author_of(caller),
            client=caller.client,
            now_us=self.clock.now_us(),
            salt=self.ids.salt(),
            signature=signature,
        )

    async def screen_content(self, request: OrgFactWriteRequest) -> FactContent:
        """Return the screened content of *request*; a long text is screened in the work thread.

        Raises SecretRefusedError.
        """
        return await self.work.run_sized(len(request.content), self._screen_content, request)

    def _screen_content(self, request: OrgFactWriteRequest) -> FactContent:
        screening = admit(request.content, self.secrets)
        refuse_kinds(screening.kinds, self.secrets, "content")
        return FactContent(
            category=request.category,
            content=screening.text,
            tags=tuple(sorted(screen_name(tag) for tag in request.tags)),
            valid_from_us=to_us(request.valid_from),
            valid_to_us=to_us(request.valid_to),
        )

    # Reading.

    def _readable(self, caller: Caller) -> frozenset[OrgFactCategory]:
        return readable_categories([self.config.read_access], caller)

    async def get(self, caller: Caller, fact_id: str) -> OrgFact | None:
        """Return a fact; None if it is unknown, retracted, or not readable for *caller*."""
        fact = await self.db.read(org_facts.get, fact_id)
        if fact is None or fact.category not in self._readable(caller):
            return None
        return fact_reader.to_fact(fact)

    async def query(self, caller: Caller, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        """Return the stored facts that match, without the policies of the settings.

        Without a context these are the newest. With a context: first the facts that contain it
        literally (by position, length, then newest), then those that share words with it, by
        BM25. Returns at most ``query.limit`` and ``extended_store.max_retrieved_per_query``. The
        backend ``temporal_kg`` leaves out facts that no longer hold; ``graph_rag`` interleaves
        facts on paths from the things that the context names.
        """
        limit = min(query.limit, self.config.extended_store.max_retrieved_per_query)
        categories = self._readable(caller) & (query.categories or frozenset(OrgFactCategory))
        only_current = self.config.backend == "temporal_kg"
        rows_max = FACTS_LOOKED_AT_MAX if only_current else limit
        if query.context is None:
            rows = await self.db.read(org_facts.list_newest, categories, rows_max)
        else:
            rows = await self.db.read(
                fact_reader.find_matching, query.context, categories, rows_max
            )
        facts = tuple(map(fact_reader.to_fact, rows))
        if only_current:
            return (await self.past.filter_holding(caller, facts))[:limit]
        if self.config.backend == "graph_rag" and self.walk is not None and query.context:
            walked_ids = await self.walk(caller, query.context, limit)
            return await self._interleave(facts, walked_ids, categories, limit)
        return facts

    async def find_candidates(self, caller: Caller, context: str) -> FactCandidates:
        """Return the facts that may fit *context*, not ranked yet.

        They are readable for *caller* and hold now, or at a time that *context* names; their valid
        time is since and until when they hold. Policies are left out, as they are in every prompt.
        The backend ``graph_rag`` adds facts on paths from the context's things.
        """
        categories = self._readable(caller) - {OrgFactCategory.CORE_POLICY}
        rows = await self.db.read(
            fact_reader.find_candidates, context, categories, FACTS_OFFERED_MAX
        )
        by_words = tuple(map(fact_reader.to_fact, rows.by_words))
        if self.config.backend == "graph_rag" and self.walk is not None and any(rows):
            walked_ids = await self.walk(caller, context, FACTS_OFFERED_MAX)
            by_words = await self._interleave(by_words, walked_ids, categories, FACTS_OFFERED_MAX)
        known_ids = {fact.id for fact in by_words}
        others = tuple(
            fact_reader.to_fact(row) for row in rows.newest if row.fact_id not in known_ids
        )
        return FactCandidates(
            await self.past.filter_holding(caller, by_words, context),
            await self.past.filter_holding(caller, others, context),
        )

    async def _interleave(
        self,
        facts: tuple[OrgFact, ...],
        walked_ids: tuple[str, ...],
        categories: frozenset[OrgFactCategory],
        limit: int,
    ) -> tuple[OrgFact, ...]:
        """Interleave *facts* and those of *walked_ids* that are in *categories*, each once."""
        facts_by_id = {fact.id: fact for fact in facts}
        new_ids = [fact_id for fact_id in walked_ids if fact_id not in facts_by_id]
        for row in await self.db.read(org_facts.by_ids, new_ids, categories):
            facts_by_id[row.fact_id] = fact_reader.to_fact(row)
        pairs = zip_longest((fact.id for fact in facts), walked_ids)
        order = dict.fromkeys(fact_id for pair in pairs for fact_id in pair)
        return tuple(facts_by_id[fact_id] for fact_id in order if fact_id in facts_by_id)[:limit]

    async def list_policies(
        self,
        caller: Caller,
        limit: int | None = None,
        offset: int = 0,
        *,
        every: bool = False,
    ) -> tuple[OrgFact, ...]:
        """Return policies: those of the settings in their order, then stored ones, newest first.

        Stored policies are those whose valid time includes now or, with *every*, all that are
        not retracted. Everybody may read the policies of the settings; callers without read
        access get no stored ones.
        """
        first = max(0, offset)
        core = self._settings_policies()
        policies = core[first:] if limit is None else core[first : first + max(0, limit)]
        remaining = -1 if limit is None else max(0, limit) - len(policies)
        if not remaining or OrgFactCategory.CORE_POLICY not in self._readable(caller):
            return policies
        now_us = None if every else self.clock.now_us()
        after = max(0, first - len(core))
        rows = await self.db.read(
            lambda conn: org_facts.list_newest(
                conn, [OrgFactCategory.CORE_POLICY], remaining, after, at_us=now_us
            )
        )
        return (*policies, *map(fact_reader.to_fact, rows))

    async def count_policies(self, caller: Caller) -> int:
        """Return how many policies *caller* may read that hold now, with those of the settings."""
        if OrgFactCategory.CORE_POLICY not in self._readable(caller):
            return len(self.config.core_policies)
        now_us = self.clock.now_us()
        stored = await self.db.read(
            lambda conn: org_facts.count(conn, OrgFactCategory.CORE_POLICY, at_us=now_us)
        )
        return len(self.config.core_policies) + stored

    def _settings_policies(self) -> tuple[OrgFact, ...]:
        now = from_us(self.clock.now_us())
        return tuple(
            OrgFact(
                id=f"core-policy-{index}",
                content=policy,
                category=OrgFactCategory.CORE_POLICY,
                author=HUMAN,
                created_at=now,
            )
            for index, policy in enumerate(self.config.core_policies)
        )

    # The past.

    async def history(self, caller: Caller, fact_id: str) -> tuple[OperationLogEntry, ...]:
        """Return the operations on a fact, the first version first; () for an unknown one.

        Left out are versions superseded before ``temporal.history_retention_days``, and those
        that the caller may not read now or could not have read then.
        """
        since_us = fact_reader.visible_since_us(self.config.temporal, self.clock.now_us())

        def work(conn: Reading) -> list[OperationRow]:
            access = category_access(conn, self.config.read_access, caller)
            return fact_reader.list_readable(conn, fact_id, access, since_us)

        return tuple(map(fact_reader.to_entry, await self.db.read(work)))

    async def snapshot_at(
        self, caller: Caller, at: datetime, after: str | None = None, limit: int | None = None
    ) -> tuple[OperationLogSnapshot, ...]:
        """Return every fact as of *at*, retracted ones included, by fact id.

        A time without a zone is UTC. A page begins after the fact id *after* and has at most
        *limit* facts. Left out are facts that the caller may not read now or could not have read
        then. Raises OrgMemoryQueryError for a time before the visible history (``temporal``).
        """
        at_us = to_us(at if at.tzinfo is not None else at.replace(tzinfo=UTC))
        fact_reader.require_visible(self.config.temporal, at_us, self.clock.now_us(), "at")

        def work(conn: Reading) -> list[SnapshotRow]:
            readable = category_access(conn, self.config.read_access, caller).at(at_us)
            return list(islice(fact_reader.iter_snapshot(conn, at_us, readable, after), limit))

        return tuple(map(fact_reader.to_snapshot, await self.db.read(work)))


def _require_human_for_human_fact(conn: Writing, fact_id: str, author: OrgFactAuthor) -> None:
    """Raise HumanFactError if a human wrote the fact and *author* is an agent."""
    if not author.is_human and proofs.is_by_human(conn, fact_id):
        raise HumanFactError(
            "a human wrote this fact", field="fact_id", hint="propose it: memd org propose"
        )
