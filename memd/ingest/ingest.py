"""Ingest: a text arrives and becomes memories (SPEC 1, D2-D7).

In order: the stored reply of an identical earlier call, if any; screening, cleaning, chunking,
scoring and routing; vectors, if a model is installed and the text is short; one transaction; the
receipt. A long text, or any text while no model is installed, is committed without vectors and
found by words at once; the embedding queue adds vectors and importance later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from memd.base import log
from memd.base.clock import Clock, to_us
from memd.base.errors import (
    IngestionError,
    MemdError,
    MemoryNotFoundError,
    MemoryStoreError,
    ModelError,
    UnavailableError,
)
from memd.base.ids import Ids
from memd.base.limits import CHUNKS_INLINE_MAX, EVENT_IDS_MAX, WINDOW_TOKENS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import ChunkingConfig, Embedder, Encoding, TokenCounter
from memd.domain.enums import MemoryLevel, Origin
from memd.domain.ingest import (
    IngestManyRequest,
    IngestRequest,
    Receipt,
    Receipts,
    ReplaceResult,
    ReplaceSourceRequest,
)
from memd.domain.memory import MemoryEntry, MemoryStoreRequest, MemoryUpdate
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.trust import Screened, SecretsPolicy
from memd.domain.values import RESERVED_AGENT, Emit, EventName, unheard
from memd.guard.redaction import redact_entry
from memd.guard.secrets import refuse_kinds, screen
from memd.ingest.arrivals import store_arrivals
from memd.ingest.draft import Drafts, draft_text, mark_repeats, strip_fences, turn_of
from memd.ingest.filing import Arrival
from memd.ingest.queue import EmbeddingQueue, emit_flagged, emit_turned_away, speaker_labels
from memd.ingest.replace import preview, replace
from memd.ingest.update import admit_update, apply_update
from memd.store.access import agents, replies
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import memories
from memd.store.search import vectors
from memd.store.session import injections
from memd.view.labels import find_fenced

R = TypeVar("R")

LONG_TEXT_CHARS = 8_192  # about 5 ms of chunking; longer texts go to the work thread
INLINE_TOKENS_MAX = CHUNKS_INLINE_MAX * WINDOW_TOKENS_MAX  # of a text stored in one piece
PROGRESS_ITEMS = 16

Progress = Callable[[int, int], None]  # called with the numbers done and in all

OnStore = Callable[[Writing, str], None]
"""Called inside the transaction with the id of what it stores."""


@dataclass(frozen=True)
class Ingest:
    """Stores texts as memories; its parts are handed in by the daemon."""

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
    """Whether every store without the tag is logged, or only an agent's first."""
    advised: set[str] = field(default_factory=set)
    """The agents whose first store was checked."""

    async def ingest(self, caller: Caller, request: IngestRequest) -> Receipt:
        """Turn a text into memories and return the receipt, after COMMIT.

        Raises MemoryStoreError when the agent's level is none or the expiry has
        passed, BusyError, ReadOnlyError, DiskFullError.
        """
        check_agent(caller)
        turn = turn_of(request)

        def look(conn: Reading) -> tuple[str | None, MemoryLevel | None, list[str]]:
            injected: list[str] = []
            if turn is Origin.ASSISTANT and request.session_id is not None:
                injected = injections.list_texts(conn, caller.agent_id, request.session_id)
            return replies.find(conn, caller), agents.level_of(conn, caller.agent_id), injected

        reply, level, injected = await self.db.read(look)
        if reply is not None:
            return Receipt.model_validate_json(reply)
        drafts = await self._drafts(request if turn is None else strip_fences(request))
        if turn is Origin.ASSISTANT:
            known_texts = [*injected, *find_fenced(request.text)]
            drafts = await self.work.run_sized(len(request.text), mark_repeats, drafts, known_texts)
        arrival = await self._arrival(request, drafts, level or self.level)
        receipt = await self._commit(caller, [arrival], lambda done: done[0], Receipt)
        self._notify(caller, [receipt])
        return receipt

    async def ingest_many(
        self, caller: Caller, request: IngestManyRequest, progress: Progress | None = None
    ) -> Receipts:
        """Turn several texts into memories in one transaction; their vectors follow in bulk.

        Known texts are merged, so an interrupted import is simply repeated.
        Receipts have the order of the items.
        """
        check_agent(caller)
        arrivals = await self._arrivals(caller, request.items, progress)
        receipts = await self._commit(
            caller, arrivals, lambda done: Receipts(items=tuple(done)), Receipts
        )
        self._notify(caller, receipts.items)
        if progress is not None:
            progress(len(request.items), len(request.items))
        return receipts

    async def replace_source(self, caller: Caller, request: ReplaceSourceRequest) -> ReplaceResult:
        """Replace the contents of a source, in one transaction (decision 0086); never gated.

        Known chunks stay, under their ids; others are stored, and those
        that the source no longer has are superseded. Raises what :meth:`ingest_many` does.
        """
        check_agent(caller)
        items = [item.model_copy(update={"source": request.source}) for item in request.items]
        arrivals = await self._arrivals(caller, items, gated=False)
        if request.dry_run or not await self.is_repeated(caller):
            expected = await self.db.read(
                lambda conn: preview(conn, caller, request, arrivals, self.clock.now_us())
            )
            if request.dry_run or not (expected.new or expected.superseded):
                return expected  # as for most files of a folder: write nothing
        receipts: list[Receipt] = []

        def work(conn: Writing) -> ReplaceResult:
            now_us = self.clock.now_us()
            answer, receipts[:] = replace(conn, caller, request, arrivals, self.ids, now_us)
            return answer

        batch = arrivals[0].batch if arrivals else None
        replaced = await self.db.write(caller, work, reply=ReplaceResult, batch=batch)
        self._notify(caller, receipts)
        return replaced

    async def store(
        self,
        caller: Caller,
        request: MemoryStoreRequest,
        on_store: OnStore | None = None,
        source: Screened | None = None,
    ) -> str:
        """Store a text as one memory and return its id: never gated, never merged (SPEC 7.3).

        *on_store* is called in the same transaction with the id; its errors undo both.
        *source*: the text that it was made of.
        """
        if self.advises or caller.agent_id not in self.advised:
            self.advised.add(caller.agent_id)
            advise_on_tags(request, is_required=self.advises)
        arrival = (await self.draft_whole(caller, request)).with_source(source)
        receipt = await self._commit(caller, [arrival], lambda done: done[0], Receipt, on_store)
        self._notify(caller, [receipt])
        return receipt.new_ids[0]

    async def draft_whole(self, caller: Caller, request: MemoryStoreRequest) -> Arrival:
        """Return a text as one arrival: screened, checked, and embedded if possible.

        Raises what :meth:`store` does. Writes nothing.
        """
        check_agent(caller)
        ingest_request = IngestRequest(
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
        with _rename_field(content="text"):
            drafts = await self._drafts(ingest_request, whole=True)
            level = await self._level(caller)
            return await self._arrival(ingest_request, drafts, level, gated=False)

    async def is_repeated(self, caller: Caller) -> bool:
        """Return whether this request was done before, under its key (SPEC D7).

        Raises ConflictError when another request had the key.
        """
        return await self.db.read(replies.find, caller) is not None

    async def update(self, caller: Caller, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        """Change a memory; the previous version is kept (SPEC D21).

        Raises MemoryNotFoundError, MemoryStoreError for an expiry that has passed,
        SecretRefusedError.
        """
        size = len(changes.content or "")
        if changes.content is not None and self.secrets == "refuse":
            screening = await self.work.run_sized(size, screen, changes.content)
            refuse_kinds(screening.kinds, self.secrets, "content")
        now_us = self.clock.now_us
        new = await self.work.run_sized(
            size, admit_update, changes, self.counter, self.secrets, now_us()
        )
        await self.db.write(
            caller, lambda conn: apply_update(conn, caller, memory_id, new, now_us()), reply=str
        )
        self.queue.wake()

        def read(conn: Reading) -> MemoryEntry:
            row = memories.of_agent(conn, caller.agent_id, memory_id)
            if row is None:
                raise MemoryNotFoundError("no such memory", field="id")
            return redact_entry(row.entry())

        return await self.db.read(read)

    async def _drafts(self, request: IngestRequest, *, whole: bool = False) -> Drafts:
        chars = sum(map(len, filter(None, (request.text, request.caption, request.heading))))
        if chars > LONG_TEXT_CHARS:
            return await self.work.run(self._draft, request, whole=whole)
        return self._draft(request, whole=whole)

    def _draft(self, request: IngestRequest, *, whole: bool = False) -> Drafts:
        return draft_text(
            request, self.counter, whole=whole, secrets=self.secrets, chunking=self.chunking
        )

    async def _arrivals(
        self,
        caller: Caller,
        items: Sequence[IngestRequest],
        progress: Progress | None = None,
        *,
        gated: bool = True,
    ) -> list[Arrival]:
        """Return several arrivals without vectors, which are computed in bulk later."""
        level = await self._level(caller)
        batch = self.ids.new()
        arrivals: list[Arrival] = []
        for done in range(0, len(items), PROGRESS_ITEMS):
            if progress is not None:
                progress(done, len(items))
            part = items[done : done + PROGRESS_ITEMS]
            drafts = await self.work.run(list, map(self._draft, part))
            for place, (item, draft) in enumerate(zip(part, drafts, strict=True), done):
                with _rename_field(f"items.{place}"):
                    self._check(item, draft, level)
                arrivals.append(Arrival(item, draft, item.level or level, batch=batch, gated=gated))
        return arrivals

    async def _arrival(
        self, request: IngestRequest, drafts: Drafts, level: MemoryLevel, *, gated: bool = True
    ) -> Arrival:
        self._check(request, drafts, level)
        model = self.embedder.fingerprint  # read first: a model installed meanwhile is another
        own, speaker = (None, None) if model is None else await self._encode(drafts)
        if self.embedder.fingerprint != model:
            own, speaker = None, None  # installed meanwhile: the vectors may be either's
        level = request.level or level
        return Arrival(request, drafts, level, own, speaker, gated=gated, model=model)

    def _check(self, request: IngestRequest, drafts: Drafts, level: MemoryLevel) -> None:
        """Raise for what must not be stored; with level none nothing is stored even on request."""
        refuse_kinds(drafts.redacted, self.secrets, "text")
        if MemoryLevel.NONE in (request.level, level):
            raise MemoryStoreError(agents.LEVEL_IS_NONE, field="level")
        if request.expires_at is not None and to_us(request.expires_at) <= self.clock.now_us():
            raise MemoryStoreError("expires_at has passed", field="expires_at")
        if not drafts.items:
            raise IngestionError("the text is blank", field="text")

    async def _level(self, caller: Caller) -> MemoryLevel:
        return await self.db.read(agents.level_of, caller.agent_id) or self.level

    async def _encode(self, drafts: Drafts) -> tuple[list[Encoding] | None, bytes | None]:
        """Return the text's encodings and its speaker's vector; None when the queue makes them."""
        tokens = sum(draft.token_count for draft in drafts.items)
        long = len(drafts.items) > CHUNKS_INLINE_MAX or tokens > INLINE_TOKENS_MAX
        if long:
            return None, None
        texts = [draft.own for draft in drafts.items]
        try:
            made = await self.embedder.encode([*texts, *speaker_labels([drafts.speaker])])
        except (UnavailableError, ModelError):
            return None, None  # the queue retries
        return made[: len(texts)], None if drafts.speaker is None else made[-1].vector

    async def _commit(
        self,
        caller: Caller,
        arrivals: Sequence[Arrival],
        answer: Callable[[list[Receipt]], R],
        reply: type[R],
        on_store: OnStore | None = None,
    ) -> R:
        fingerprint = self.embedder.fingerprint

        def work(conn: Writing) -> R:
            now_us = self.clock.now_us()
            if fingerprint is not None and not vectors.live_model(conn, fingerprint.text):
                vectors.ensure_cache(conn, fingerprint, now_us)
            receipts = store_arrivals(conn, caller, arrivals, self.ids, now_us)
            if on_store is not None:
                for memory_id in receipts[0].new_ids:
                    on_store(conn, memory_id)
            return answer(receipts)

        return await self.db.write(caller, work, reply=reply, batch=arrivals[0].batch)

    def _notify(self, caller: Caller, receipts: Sequence[Receipt]) -> None:
        if any(receipt.pending for receipt in receipts):
            self.queue.wake()
        new = [item.id for receipt in receipts for item in (*receipt.stored, *receipt.pending)]
        if new:
            payload = {"ids": new[:EVENT_IDS_MAX], "stored": len(new)}
            self.emit(caller.agent_id, EventName.STORED, payload)
        turned_away = [
            (caller.agent_id, item.id) for receipt in receipts for item in receipt.turned_away
        ]
        if turned_away:
            emit_turned_away(self.emit, turned_away)
        emit_flagged(self.emit, caller.agent_id, receipts)


@contextmanager
def _rename_field(place: str | None = None, **names: str) -> Iterator[None]:
    """Translate the field of an error to the caller's name for it, or prefix it by *place*."""
    field_names = {ours: theirs for theirs, ours in names.items()}
    try:
        yield
    except MemdError as error:
        field = field_names.get(error.field or "", error.field)
        error.field = field if place is None else f"{place}.{field}"
        raise


def check_agent(caller: Caller) -> None:
    """Raise MemoryStoreError for the agent of shared memories, in whose name nothing is stored."""
    if caller.agent_id == RESERVED_AGENT:
        raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")


def advise_on_tags(request: MemoryStoreRequest, *, is_required: bool = True) -> bool:
    """Return whether *request* has the tag ``non-inferable``; log one warning when not (SPEC 7.15).

    *is_required*: whether without the tag no prompt will have it. Never refuses, and never logs
    a memory's text.
    """
    if NON_INFERABLE_TAG in request.metadata.tags:
        return True
    log.warning(
        "not tagged non-inferable: no prompt will have it"
        if is_required
        else "not tagged non-inferable",
        category=str(request.category),
        chars=len(request.content),
    )
    return False
