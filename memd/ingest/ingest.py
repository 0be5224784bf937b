"""Turn texts into memories (SPEC 1, D2-D7).

The steps of a call: look up the stored reply of an identical earlier call; screen, clean, chunk,
score and route the text; embed it, if a model is installed and the text is short; store it in one
transaction; return the receipt. A long text, or any text without a model, is stored without
vectors: full-text search finds it at once, and the queue adds vectors and importance later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import TypeVar

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
from memd.domain.trust import Screened, SecretsPolicy
from memd.domain.values import Emit, EventName, unheard
from memd.guard.redaction import redact_entry
from memd.guard.secrets import refuse_kinds, screen
from memd.ingest.arrivals import store_arrivals
from memd.ingest.draft import Drafts, draft_text, mark_repeats, strip_fences, turn_of
from memd.ingest.filing import Arrival, PrivateSessions, advise_on_tags, check_agent
from memd.ingest.queue import EmbeddingQueue, emit_flagged, emit_turned_away, speaker_labels
from memd.ingest.replace import preview, replace
from memd.ingest.update import admit_update, apply_update
from memd.store.access import agents, replies
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import memories
from memd.store.search import vectors
from memd.store.session import injections, sessions
from memd.view.labels import find_fenced

R = TypeVar("R")

LONG_TEXT_CHARS = 8_192  # about 5 ms of chunking; longer texts go to the work thread
INLINE_TOKENS_MAX = CHUNKS_INLINE_MAX * WINDOW_TOKENS_MAX  # the queue embeds longer texts
PROGRESS_ITEMS = 16  # between two calls of a progress callback

Progress = Callable[[int, int], None]
"""Called with the number of items done, and of all items."""

OnStore = Callable[[Writing, str], None]
"""Called inside the transaction with the id of the stored memory."""


@dataclass(frozen=True)
class Ingest:
    """Stores texts as memories."""

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
    """Whether every store without the tag ``non-inferable`` is logged, or only an agent's first."""
    advised: set[str] = field(default_factory=set)
    """The agents whose first store was checked for the tag."""
    private: PrivateSessions = field(default_factory=PrivateSessions)

    async def ingest(self, caller: Caller, request: IngestRequest) -> Receipt:
        """Turn a text into memories and return the receipt, after COMMIT.

        Raises IngestionError for a blank text, MemoryStoreError if the agent's level is none or
        the expiry has passed, BusyError, ReadOnlyError, DiskFullError.
        """
        check_agent(caller)
        turn = turn_of(request)

        def prepare(conn: Reading) -> tuple[str | None, MemoryLevel | None, list[str], list[str]]:
            injected, last_turn = [], []
            if turn is Origin.ASSISTANT and request.session_id is not None:
                injected = injections.list_texts(conn, caller.agent_id, request.session_id)
                last_turn = sessions.list_last_statements(conn, caller.agent_id, request.session_id)
            reply, level = replies.find(conn, caller), agents.level_of(conn, caller.agent_id)
            return reply, level, injected, last_turn

        reply, level, injected, last_turn = await self.db.read(prepare)
        if reply is not None:
            return Receipt.model_validate_json(reply)
        drafts = await self._drafts(request if turn is None else strip_fences(request))
        if turn is Origin.ASSISTANT:
            known_texts = [*injected, *find_fenced(request.text)]
            size = len(request.text)
            drafts = await self.work.run_sized(size, mark_repeats, drafts, known_texts, last_turn)
        drafts = self.private.withhold(caller, request, drafts)
        arrival = await self._arrival(request, drafts, level or self.level)
        receipt = await self._commit(caller, [arrival], lambda receipts: receipts[0], Receipt)
        self._notify(caller, [receipt])
        return receipt

    async def ingest_many(
        self, caller: Caller, request: IngestManyRequest, progress: Progress | None = None
    ) -> Receipts:
        """Turn several texts into memories in one transaction; the queue adds their vectors.

        Known texts are merged, so an interrupted import can be repeated. Receipts have the order
        of the items. Raises what :meth:`ingest` does.
        """
        check_agent(caller)
        arrivals = await self._arrivals(caller, request.items, progress)
        receipts = await self._commit(
            caller, arrivals, lambda receipts: Receipts(items=tuple(receipts)), Receipts
        )
        self._notify(caller, receipts.items)
        if progress is not None:
            progress(len(request.items), len(request.items))
        return receipts

    async def replace_source(self, caller: Caller, request: ReplaceSourceRequest) -> ReplaceResult:
        """Replace the contents of a source, in one transaction (decision 0086).

        Known chunks keep their ids, and are moved to the project that is named; new ones are stored
        whatever their importance, and those that the source no longer has are superseded. Raises
        what :meth:`ingest_many` does, and DeniedError as ``check_may_change`` does.
        """
        check_agent(caller)
        items = [item.model_copy(update={"source": request.source}) for item in request.items]
        arrivals = await self._arrivals(caller, items, gated=False)
        if request.dry_run or not await self.is_repeated(caller):
            expected = await self.db.read(
                lambda conn: preview(conn, caller, request, arrivals, self.clock.now_us())
            )
            if request.dry_run or not (expected.new or expected.moved or expected.superseded):
                return expected  # nothing to write, as for most files of a repeated import
        receipts: list[Receipt] = []

        def work(conn: Writing) -> ReplaceResult:
            now_us = self.clock.now_us()
            result, receipts[:] = replace(conn, caller, request, arrivals, self.ids, now_us)
            return result

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
        *,
        merge: bool = False,
    ) -> str:
        """Store a text as one memory and return its id (SPEC 7.3).

        It is stored whatever its importance, and only with *merge* merged with a visible memory of
        the same text that is filed alike: with the same namespace, category, session, project and
        speaker, and all tags. *on_store* is called with the id of a new memory in the same
        transaction, which its errors roll back. *source* is the text from which it was made.
        """
        if self.advises or caller.agent_id not in self.advised:
            self.advised.add(caller.agent_id)
            advise_on_tags(request, is_required=self.advises)
        arrival = (await self.draft_whole(caller, request)).with_source(source)
        arrival = replace_fields(arrival, merge=merge)
        receipt = await self._commit(
            caller, [arrival], lambda receipts: receipts[0], Receipt, on_store
        )
        self._notify(caller, [receipt])
        (memory_id,) = [*receipt.new_ids, *(item.id for item in receipt.merged)]
        return memory_id

    async def draft_whole(self, caller: Caller, request: MemoryStoreRequest) -> Arrival:
        """Return a text as one arrival: screened, checked, embedded if possible, not stored."""
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
        """Return whether a request with this idempotency key was completed before (SPEC D7).

        Raises ConflictError if the key was that of a different request.
        """
        return await self.db.read(replies.find, caller) is not None

    async def update(self, caller: Caller, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        """Change a memory and return it; the previous version is kept (SPEC D21).

        Raises MemoryNotFoundError, MemoryStoreError for an expiry that has passed,
        SecretRefusedError, and DeniedError as ``check_may_change`` does.
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
        """Return the arrivals of *items*, without vectors, which the queue computes in bulk."""
        level = await self._level(caller)
        batch = self.ids.new()
        arrivals: list[Arrival] = []
        for done in range(0, len(items), PROGRESS_ITEMS):
            if progress is not None:
                progress(done, len(items))
            part = items[done : done + PROGRESS_ITEMS]
            drafts = await self.work.run(list, map(self._draft, part))
            for index, (item, draft) in enumerate(zip(part, drafts, strict=True), done):
                text = self.private.withhold(caller, item, draft)
                with _rename_field(f"items.{index}"):
                    self._check(item, text, level)
                arrivals.append(Arrival(item, text, item.level or level, batch=batch, gated=gated))
        return arrivals

    async def _arrival(
        self, request: IngestRequest, drafts: Drafts, level: MemoryLevel, *, gated: bool = True
    ) -> Arrival:
        self._check(request, drafts, level)
        model = self.embedder.fingerprint
        encodings, speaker = (None, None) if model is None else await self._encode(drafts)
        if self.embedder.fingerprint != model:
            encodings, speaker = None, None  # changed meanwhile: they may be of either model
        level = request.level or level
        return Arrival(request, drafts, level, encodings, speaker, gated=gated, model=model)

    def _check(self, request: IngestRequest, drafts: Drafts, level: MemoryLevel) -> None:
        """Raise for a text that must not be stored.

        An agent of level none stores nothing, even if the request has another level.
        """
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
        """Return the encodings of the drafts, and the vector of the speaker's label, if any.

        Both are None if the text is long or the model fails; then the queue embeds it.
        """
        tokens = sum(draft.token_count for draft in drafts.items)
        if len(drafts.items) > CHUNKS_INLINE_MAX or tokens > INLINE_TOKENS_MAX:
            return None, None
        texts = [draft.indexed_text for draft in drafts.items]
        try:
            encodings = await self.embedder.encode([*texts, *speaker_labels([drafts.speaker])])
        except (UnavailableError, ModelError):
            return None, None
        speaker_vector = None if drafts.speaker is None else encodings[-1].vector
        return encodings[: len(texts)], speaker_vector

    async def _commit(
        self,
        caller: Caller,
        arrivals: Sequence[Arrival],
        make_reply: Callable[[list[Receipt]], R],
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
            return make_reply(receipts)

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
def _rename_field(prefix: str | None = None, **names: str) -> Iterator[None]:
    """Give the field of an error the name that the caller knows, with a *prefix* if given.

    *names* maps the caller's names to those of the request that raised the error.
    """
    caller_names = {name: caller_name for caller_name, name in names.items()}
    try:
        yield
    except MemdError as error:
        field = caller_names.get(error.field or "", error.field)
        error.field = field if prefix is None else f"{prefix}.{field}"
        raise
