"""A text arrives and becomes memories (SPEC 1, D2-D7).

In order: the reply of an earlier identical call, if there is one; screening, cleaning, cutting,
scoring and routing; vectors, when a model is there and the text is short; one transaction; the
receipt. A long text, or one that comes while no model is installed, is committed without vectors,
findable by words at once; the embedding queue gives it vectors and importance later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from memd.base.clock import Clock, to_us
from memd.base.errors import (
    IngestionError,
    MemdError,
    MemoryNotFoundError,
    MemoryStoreError,
    ModelError,
    SecretRefusedError,
    UnavailableError,
)
from memd.base.ids import Ids
from memd.base.limits import CHUNKS_INLINE_MAX, EVENT_IDS_MAX, WINDOW_TOKENS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import ChunkingConfig, Embedder, TokenCounter
from memd.domain.enums import MemoryLevel
from memd.domain.ingest import (
    IngestManyRequest,
    IngestRequest,
    Receipt,
    Receipts,
    Replaced,
    ReplaceSourceRequest,
)
from memd.domain.memory import MemoryEntry, MemoryStoreRequest, MemoryUpdate
from memd.domain.trust import Screened, SecretsPolicy
from memd.domain.values import RESERVED_AGENT, Emit, EventName, unheard
from memd.guard.orders import refuse_orders
from memd.guard.redaction import redact_entry
from memd.guard.secrets import admit, screen, screen_name
from memd.ingest import preferring
from memd.ingest.draft import Drafts, drafts
from memd.ingest.filing import Arrival
from memd.ingest.guard import advise_on_tags
from memd.ingest.keep import keep
from memd.ingest.queue import EmbeddingQueue, tell_flagged, tell_turned_away, voices
from memd.ingest.repeating import apart, known_words, without_fences
from memd.ingest.replace import foresee, replace
from memd.ingest.update import admitted_update, change
from memd.store.access import agents, names, replies
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import memories, preferences
from memd.store.search import vectors

R = TypeVar("R")

LONG_TEXT_CHARS = 8_192  # about 5 ms of cutting: longer texts are cut in the work thread
INLINE_TOKENS_MAX = CHUNKS_INLINE_MAX * WINDOW_TOKENS_MAX  # of a text that stays in one piece
PROGRESS_ITEMS = 16
NOTHING_KEPT = "the memory level is none: nothing is stored"

Progress = Callable[[int, int], None]  # told how many are done, and how many there are

Within = Callable[[Writing, str], None]
"""Called inside a transaction with the id of what it stores."""


@dataclass(frozen=True)
class Ingest:
    """The room's needs, handed in by the daemon."""

    db: Database
    embedder: Embedder
    counter: TokenCounter
    clock: Clock
    ids: Ids
    work: Work
    queue: EmbeddingQueue
    level: MemoryLevel
    chunking: ChunkingConfig
    secrets: SecretsPolicy = "redact"
    emit: Emit = unheard
    advises: bool = False
    """Whether every store without the tag is warned of, or an agent's first alone."""
    advised: set[str] = field(default_factory=set)
    """The agents whose first store has been looked at."""

    async def ingest(self, caller: Caller, request: IngestRequest) -> Receipt:
        """Turn a text into memories and return the receipt, after COMMIT.

        Raises MemoryStoreError when the agent's level is none or the expiry has
        passed, BusyError, ReadOnlyError, DiskFullError.
        """
        _check_agent(caller)
        kept = await self.db.read(replies.find, caller)
        if kept is not None:
            return Receipt.model_validate_json(kept)
        known = await known_words(self.db, caller, request)
        if known is not None:
            request = without_fences(request)
        drafted = await self._drafts(request)
        if known:
            drafted = await self.work.run_sized(len(request.text), apart, drafted, known)
        arrival = await self._arrival(caller, request, drafted)
        receipt = await self._kept(caller, [arrival], lambda done: done[0], Receipt)
        self._after(caller, [receipt])
        return receipt

    async def ingest_many(
        self, caller: Caller, request: IngestManyRequest, progress: Progress | None = None
    ) -> Receipts:
        """Turn several texts into memories in one transaction; their vectors follow in bulk.

        Texts that are there already are merged, so an import that was interrupted
        is simply run again. Receipts stand in the order of the items.
        """
        _check_agent(caller)
        arrivals = await self._arrivals(caller, request.items, progress)
        receipts = await self._kept(
            caller, arrivals, lambda done: Receipts(items=tuple(done)), Receipts
        )
        self._after(caller, receipts.items)
        if progress is not None:
            progress(len(request.items), len(request.items))
        return receipts

    async def replace_source(self, caller: Caller, request: ReplaceSourceRequest) -> Replaced:
        """Let a source say what it says now, in one transaction (decision 0086); never gated.

        Chunks that are there already stay, under their ids; the others are stored, and those
        that the source no longer has are superseded. Raises what :meth:`ingest_many` does.
        """
        _check_agent(caller)
        items = [item.model_copy(update={"source": request.source}) for item in request.items]
        arrivals = await self._arrivals(caller, items, gated=False)
        if request.dry_run or not await self.was_done(caller):
            foreseen = await self.db.read(
                lambda conn: foresee(conn, caller, request, arrivals, self.clock.now_us())
            )
            if request.dry_run or not (foreseen.new or foreseen.superseded):
                return foreseen  # most files of a folder: nothing is written for them
        receipts: list[Receipt] = []

        def work(conn: Writing) -> Replaced:
            now_us = self.clock.now_us()
            answer, receipts[:] = replace(conn, caller, request, arrivals, self.ids, now_us)
            return answer

        batch = arrivals[0].batch if arrivals else None
        replaced = await self.db.write(caller, work, reply=Replaced, batch=batch)
        self._after(caller, receipts)
        return replaced

    async def store(
        self,
        caller: Caller,
        request: MemoryStoreRequest,
        within: Within | None = None,
        source: Screened | None = None,
    ) -> str:
        """Store a text as one memory and return its id: never gated, never merged (SPEC 7.3).

        *within* is called in the same transaction with the id; what it raises undoes both.
        *source*: what it was made of.
        """
        if self.advises or caller.agent_id not in self.advised:
            self.advised.add(caller.agent_id)
            advise_on_tags(request, decides=self.advises)
        arrival = (await self.whole(caller, request)).made_of(source)
        receipt = await self._kept(caller, [arrival], lambda done: done[0], Receipt, within)
        self._after(caller, [receipt])
        return (receipt.stored + receipt.pending + receipt.quarantined)[0].id

    async def whole(self, caller: Caller, request: MemoryStoreRequest) -> Arrival:
        """Return a text on its way in, as one memory: screened, checked, embedded where it can be.

        Raises what :meth:`store` does. Nothing is written yet.
        """
        _check_agent(caller)
        as_ingested = IngestRequest(
            text=request.content,
            category=request.category,
            namespace=request.namespace,
            session_id=request.session_id,
            project_id=request.project_id,
            speaker=request.speaker,
            occurred_at=request.occurred_at,
            source=request.metadata.source,
            tags=request.metadata.tags,
            level=request.level,
            confidence=request.metadata.confidence,
            expires_at=request.expires_at,
            origin=request.origin,
        )
        with _named(content="text"):
            drafted = await self._drafts(as_ingested, whole=True)
            return await self._arrival(caller, as_ingested, drafted, gated=False)

    async def was_done(self, caller: Caller) -> bool:
        """Return whether this very request was done before, under its key (SPEC D7).

        Raises ConflictError when the key was another request's.
        """
        return await self.db.read(replies.find, caller) is not None

    async def update(self, caller: Caller, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        """Change a memory; the version before is kept (SPEC D21).

        Raises MemoryNotFoundError, MemoryStoreError for an expiry that has passed,
        SecretRefusedError.
        """
        size = len(changes.content or "")
        if changes.content is not None and self.secrets == "refuse":
            seen = await self.work.run_sized(size, screen, changes.content)
            self._refuse(seen.kinds, "content")
        new = await self.work.run_sized(size, admitted_update, changes, self.counter, self.secrets)
        now_us = self.clock.now_us
        await self.db.write(
            caller, lambda conn: change(conn, caller, memory_id, new, now_us()), reply=str
        )
        self.queue.wake()
        agent_key = await self.db.read(names.find_agent, caller.agent_id)
        assert agent_key is not None

        def read(conn: Reading) -> MemoryEntry | None:
            row = memories.by_id(conn, agent_key, memory_id)
            return None if row is None else redact_entry(row.entry())

        entry = await self.db.read(read)
        if entry is None:
            raise MemoryNotFoundError("no such memory", field="id")
        return entry

    async def set_preference(self, caller: Caller, name: str, value: str) -> None:
        """Set a preference by name; it is put first in every recall.

        Raises QuarantinedError for one that gives orders and is not from the owner (PROMISES
        H48), DeniedError where it would replace the owner's and is not.
        """
        _check_agent(caller)
        await self.work.run_sized(len(value), refuse_orders, caller, name=name, value=value)
        if await self._level(caller) is MemoryLevel.NONE:
            raise MemoryStoreError(NOTHING_KEPT, field="agent_id")
        screening = await self.work.run_sized(len(value), admit, value, self.secrets)
        self._refuse(screening.kinds, "value")
        tokens = max(1, await self.work.run_sized(len(value), self.counter.count, screening.text))
        new = preferences.NewPreference(
            screen_name(name), screening.text, 1.0, tokens, None, self.ids.salt()
        )
        now_us = self.clock.now_us
        await self.db.write(
            caller, lambda conn: preferring.put(conn, caller, new, now_us()), reply=type(None)
        )

    async def confirm_preference(self, caller: Caller, name: str, value: str | None) -> bool:
        """Let the owner stand by a preference, which no prompt fences from then on."""
        now_us = self.clock.now_us
        return await self.db.write(
            caller, lambda conn: preferring.confirm(conn, caller, name, value, now_us()), reply=bool
        )

    async def delete_preference(self, caller: Caller, name: str) -> bool:
        """Remove a preference; False when there was none. The memory it came from stays."""
        return await self.db.write(
            caller, lambda conn: preferring.delete(conn, caller, name), reply=bool
        )

    # The steps.

    async def _drafts(self, request: IngestRequest, *, whole: bool = False) -> Drafts:
        draft = partial(self._draft, request, whole=whole)
        chars = sum(map(len, filter(None, (request.text, request.caption, request.heading))))
        return await self.work.run(draft) if chars > LONG_TEXT_CHARS else draft()

    @property
    def _draft(self) -> partial[Drafts]:
        return partial(drafts, counter=self.counter, secrets=self.secrets, chunking=self.chunking)

    async def _arrivals(
        self,
        caller: Caller,
        items: Sequence[IngestRequest],
        progress: Progress | None = None,
        *,
        gated: bool = True,
    ) -> list[Arrival]:
        """Return texts on their way in together, without vectors: those are made in bulk later."""
        level = await self._level(caller)
        batch = self.ids.new()
        arrivals: list[Arrival] = []
        for done in range(0, len(items), PROGRESS_ITEMS):
            if progress is not None:
                progress(done, len(items))
            part = items[done : done + PROGRESS_ITEMS]
            drafted = await self.work.run(list, map(self._draft, part))
            for place, (item, its) in enumerate(zip(part, drafted, strict=True), done):
                with _named(f"items.{place}"):
                    self._check(item, its, level)
                arrivals.append(Arrival(item, its, item.level or level, batch=batch, gated=gated))
        return arrivals

    async def _arrival(
        self, caller: Caller, request: IngestRequest, drafted: Drafts, *, gated: bool = True
    ) -> Arrival:
        level = await self._level(caller)
        self._check(request, drafted, level)
        model = self.embedder.fingerprint  # before: a model that comes meanwhile is not this one
        own, voice = await self._vectors(drafted)
        if self.embedder.fingerprint != model:
            own, voice = None, None  # it came while they were made: whose they are is not known
        level = request.level or level
        return Arrival(request, drafted, level, own, voice, gated=gated, model=model)

    def _check(self, request: IngestRequest, drafted: Drafts, level: MemoryLevel) -> None:
        """Refuse what must not be stored. An agent that keeps nothing keeps nothing on request."""
        self._refuse(drafted.redacted, "text")
        if MemoryLevel.NONE in (request.level, level):
            raise MemoryStoreError(NOTHING_KEPT, field="level")
        if request.expires_at is not None and to_us(request.expires_at) <= self.clock.now_us():
            raise MemoryStoreError("expires_at has passed", field="expires_at")
        if not drafted.items:
            raise IngestionError("the text is blank", field="text")

    def _refuse(self, kinds: Sequence[str], field: str) -> None:
        if self.secrets == "refuse" and kinds:
            raise SecretRefusedError(f"the text holds a secret ({', '.join(kinds)})", field=field)

    async def _level(self, caller: Caller) -> MemoryLevel:
        return await self.db.read(agents.level, caller.agent_id) or self.level

    async def _vectors(self, drafted: Drafts) -> tuple[list[bytes] | None, bytes | None]:
        """Return the vectors of text and voice now, or None when they had better come later."""
        tokens = sum(draft.token_count for draft in drafted.items)
        long = len(drafted.items) > CHUNKS_INLINE_MAX or tokens > INLINE_TOKENS_MAX
        if self.embedder.fingerprint is None or long:
            return None, None
        own = [draft.own for draft in drafted.items]
        try:
            vectors = await self.embedder.embed([*own, *voices([drafted.speaker])])
        except (UnavailableError, ModelError):
            return None, None  # the queue tries again: nothing is lost for lack of a vector
        return vectors[: len(own)], None if drafted.speaker is None else vectors[-1]

    async def _kept(
        self,
        caller: Caller,
        arrivals: Sequence[Arrival],
        answer: Callable[[list[Receipt]], R],
        reply: type[R],
        within: Within | None = None,
    ) -> R:
        fingerprint = self.embedder.fingerprint

        def work(conn: Writing) -> R:
            now_us = self.clock.now_us()
            if fingerprint is not None:
                vectors.ensure_cache(conn, fingerprint, now_us)
            receipts = keep(conn, caller, arrivals, self.ids, now_us)
            if within is not None:
                its = receipts[0]
                for item in (*its.stored, *its.pending, *its.quarantined):
                    within(conn, item.id)
            return answer(receipts)

        return await self.db.write(caller, work, reply=reply, batch=arrivals[0].batch)

    def _after(self, caller: Caller, receipts: Sequence[Receipt]) -> None:
        if any(receipt.pending for receipt in receipts):
            self.queue.wake()
        new = [item.id for receipt in receipts for item in (*receipt.stored, *receipt.pending)]
        if new:
            payload = {"ids": new[:EVENT_IDS_MAX], "stored": len(new)}
            self.emit(caller.agent_id, EventName.STORED, payload)
        away = [(caller.agent_id, item.id) for each in receipts for item in each.turned_away]
        tell_turned_away(self.emit, away)
        tell_flagged(self.emit, caller.agent_id, receipts)


@contextmanager
def _named(place: str | None = None, **names: str) -> Iterator[None]:
    """Let errors name the field as the caller knows it: below *place*, or under another name."""
    called = {ours: theirs for theirs, ours in names.items()}
    try:
        yield
    except MemdError as error:
        field = called.get(error.field or "", error.field)
        error.field = field if place is None else f"{place}.{field}"
        raise


def _check_agent(caller: Caller) -> None:
    if caller.agent_id == RESERVED_AGENT:
        raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")
