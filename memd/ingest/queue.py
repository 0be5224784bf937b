"""Embed the memories that have no vector yet, single texts before bulk imports.

The queue is the rows themselves, so it survives a kill. While one batch is written, the next is
embedded. If a model is installed or changed while the daemon runs, the next poll notices: memories
with vectors of another model are embedded again, and until then found by full-text search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import DegradedError, EmbeddingError, MemdError, UnavailableError
from memd.base.ids import Ids
from memd.base.limits import EVENT_IDS_MAX
from memd.base.work import SharedLock
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, Encoding, ModelFingerprint, TokenCounter
from memd.domain.enums import ArchiveReason
from memd.domain.ingest import Receipt
from memd.domain.values import Emit, EventName, unheard
from memd.store.access import changes
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import removal
from memd.store.search import centroids, embedding_queue, vectors
from memd.store.search.embedding_queue import PendingRow

SWEEP_ROWS = 256  # embedded together, sorted by length
STEP_ROWS = 64  # written in one transaction
BUILD_ROWS = 500  # existing vectors that one transaction adds to the cache of a model
POLL_SECONDS = 5.0  # how often to look for a model while there is none


class _Sweep(NamedTuple):
    """The rows that could be embedded, with their encodings."""

    rows: list[PendingRow]
    encodings: list[Encoding]
    speakers: dict[str, bytes]
    """The vectors of the speakers' labels, by label."""


@dataclass
class EmbeddingQueue:
    """Embeds the rows that have no vector."""

    db: Database
    embedder: Embedder
    counter: TokenCounter
    clock: Clock
    ids: Ids
    emit: Emit = unheard
    model_lock: SharedLock = field(default_factory=SharedLock)
    """Keeps the model from changing while its cache is read."""
    _known_cache: tuple[object, bytes | None] | None = None
    """The call whose rows were scored last, and the vector sum of what was known before it."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _unembeddable: set[tuple[int, str]] = field(default_factory=set)
    """Key and text of rows on which the model fails; retried after a restart."""
    _complete: tuple[int, changes.Head] | None = None
    """The model and the audit's head when the last search for rows without a vector found none."""
    _is_expected: bool = False
    """Whether rows were announced since the last round."""

    def wake(self) -> None:
        """Signal that there are rows to embed."""
        self._idle.clear()
        self._wake.set()

    def expect(self) -> None:
        """Announce that rows will come, so that the model is loaded now."""
        self._is_expected = True
        self.wake()

    async def run(self) -> None:
        """Embed for ever. Errors of model or disk are logged and retried."""
        self.wake()
        while True:
            self._wake.clear()  # first, so that rows that arrive during a round start another one
            try:
                await self._load()
                await self.drain()
            except UnavailableError as error:
                log.warning("embedding waits", kind=error.kind)
            except MemdError as error:
                log.error("embedding failed", kind=error.kind)
            if not self._wake.is_set():
                self._idle.set()
            await self._wait_for_work()

    async def _load(self) -> None:
        is_expected, self._is_expected = self._is_expected, False
        if is_expected and self.embedder.fingerprint is not None and not self.embedder.loaded:
            await self.embedder.embed(["memd"], bulk=True)

    async def _wait_for_work(self) -> None:
        # Not wait_for: it loses a cancellation that coincides with the wake-up.
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._wake.wait()

    async def drain(self) -> int:
        """Embed until no row waits; return the number of rows embedded, 0 without a model.

        Raises DegradedError if the model changes meanwhile; the last batch is then dropped.
        """
        async with self.model_lock.shared():
            fingerprint = self.embedder.fingerprint
            if fingerprint is None or self.db.read_only:
                return 0
            model_key = await self._adopt(fingerprint)
        count = await self._embed_pending(model_key, fingerprint)
        return count + await self._embed_missing(model_key, fingerprint)

    async def _adopt(self, fingerprint: ModelFingerprint) -> int:
        """Make the vector cache of the installed model the live one and return the model's key.

        Vectors that a model used earlier left are added to its cache before it becomes live.
        Memories without a vector of this model are embedded later.
        """

        def start(conn: Writing) -> int:
            model_key = vectors.ensure_cache(conn, fingerprint, self.clock.now_us())
            model, building = vectors.current_cache(conn), vectors.current_build(conn)
            assert model is not None
            if model.model_key != model_key and (
                building is None or building[0].model_key != model_key
            ):
                vectors.start_build(conn, model_key)
            return model_key

        live = await self.db.read(vectors.current_cache)
        model_key = await self.db.read(vectors.find_model, str(fingerprint))
        while live is None or model_key != live.model_key:
            model_key = await self.db.write(_CALLER, start)
            live = await self.db.read(vectors.current_cache)
            while live is None or model_key != live.model_key:
                if not await self.db.write(_CALLER, _step_build):
                    live = await self.db.read(vectors.current_cache)
                    break
        return live.model_key

    async def _embed_pending(self, model_key: int, fingerprint: ModelFingerprint) -> int:
        """Embed pending rows in sweeps, writing one while the next is embedded."""
        count = 0
        writing: asyncio.Task[None] | None = None
        in_flight: frozenset[int] = frozenset()
        try:
            while True:
                rows_max = SWEEP_ROWS + len(in_flight) + len(self._unembeddable)
                rows = self.filter_embeddable(
                    await self.db.read(embedding_queue.list_pending, rows_max)
                )
                rows = [row for row in rows if row.memory_key not in in_flight][:SWEEP_ROWS]
                if not rows and writing is None:
                    return count
                sweep = await self.embed_rows(rows, fingerprint)
                if writing is not None:
                    await writing
                writing, in_flight = None, frozenset()
                if sweep.rows:
                    writing = asyncio.create_task(self._write(model_key, sweep))
                    in_flight = frozenset(row.memory_key for row in sweep.rows)
                    count += len(sweep.rows)
        except BaseException:
            if writing is not None:
                with suppress(MemdError):  # raise the first error, which may be a cancellation
                    await writing
            raise

    def filter_embeddable(self, rows: Sequence[PendingRow]) -> list[PendingRow]:
        """Return *rows* without those on whose text the model failed."""
        return [row for row in rows if (row.memory_key, row.own) not in self._unembeddable]

    async def embed_rows(self, rows: Sequence[PendingRow], model: ModelFingerprint) -> _Sweep:
        """Embed *rows*; if that fails, halve them until the text that fails is found.

        That text stays without a vector, unless the model fails on any text: then the
        EmbeddingError is raised.
        """
        if not rows:
            return _Sweep([], [], {})
        names = speaker_labels(row.speaker for row in rows)
        try:
            embedded = await self._embed([*(row.own for row in rows), *names], model)
        except EmbeddingError:
            half = len(rows) // 2
            if half:
                first = await self.embed_rows(rows[:half], model)
                second = await self.embed_rows(rows[half:], model)
                return _Sweep(
                    first.rows + second.rows,
                    first.encodings + second.encodings,
                    first.speakers | second.speakers,
                )
            await self._embed([f"memory {rows[0].memory_id}"], model)  # does the model work at all?
            self._unembeddable.add((rows[0].memory_key, rows[0].own))
            log.warning("a memory cannot be embedded", memory_id=rows[0].memory_id)
            return _Sweep([], [], {})
        speakers = [encoding.vector for encoding in embedded[len(rows) :]]
        return _Sweep(list(rows), embedded[: len(rows)], dict(zip(names, speakers, strict=True)))

    async def _embed(self, texts: Sequence[str], model: ModelFingerprint) -> list[Encoding]:
        encodings = await self.embedder.encode(texts, bulk=True)
        if self.embedder.fingerprint != model:
            raise DegradedError("the model changed while texts were embedded")
        for encoding in encodings:
            vectors.validate(encoding, model.dimension)
        return encodings

    def _score(self, similarity: float | None, text: str) -> tuple[float, bool]:
        """Return the importance of a text, and whether it reaches the threshold."""
        from memd.text.importance import importance, is_kept, novelty, salience

        score = importance(novelty(similarity), salience(text, self.counter))
        return score, is_kept(score)

    async def _write(self, model_key: int, sweep: _Sweep) -> None:
        encoded_rows = list(zip(sweep.rows, sweep.encodings, strict=True))
        for start in range(0, len(encoded_rows), STEP_ROWS):
            step = encoded_rows[start : start + STEP_ROWS]
            turned_away = await self.db.write(
                _CALLER,
                partial(self._gate, model_key=model_key, step=step, speakers=sweep.speakers),
            )
            emit_turned_away(self.emit, turned_away)

    def _gate(
        self,
        conn: Writing,
        model_key: int,
        step: Sequence[tuple[PendingRow, Encoding]],
        speakers: Mapping[str, bytes],
    ) -> list[tuple[str, str]]:
        """Store vectors, score rows without importance, archive those below the gate (SPEC D4).

        Only texts of a stream have no importance yet. They are compared with what was known before
        the call that brought them, even after a restart. Returns agent and id of each memory that
        was turned away.
        """
        now_us = self.clock.now_us()
        unchanged = embedding_queue.find_unchanged(conn, [row for row, _ in step])
        step = [(row, encoding) for row, encoding in step if row.memory_key in unchanged]
        vectors_by_key = [(row.memory_key, encoding) for row, encoding in step]
        embedding_queue.store_vectors(conn, model_key, vectors_by_key)
        accepted: list[PendingRow] = []
        turned_away: list[PendingRow] = []
        for row, encoding in step:
            stays = True
            if row.importance is None:
                known_sum = self._sum_before(conn, model_key, row, unchanged)
                similarity = centroids.similarity(
                    conn, known_sum, encoding.vector, speakers.get(f"{row.speaker}:")
                )
                score, stays = self._score(similarity, row.content)
                embedding_queue.set_importance(conn, row.memory_key, score)
            if stays:
                accepted.append(row)
            else:
                turned_away.append(row)
        accepted_keys = [row.memory_key for row in accepted]
        centroids.add_memories(conn, accepted_keys, model_key)
        embedding_queue.activate(conn, accepted_keys)
        turned_away_keys = [row.memory_key for row in turned_away]
        removal.archive(
            conn, turned_away_keys, ArchiveReason.LOW_IMPORTANCE, now_us, new_id=self.ids.new
        )
        return [(row.agent_id, row.memory_id) for row in turned_away]

    def _sum_before(
        self, conn: Writing, model_key: int, row: PendingRow, step: frozenset[int]
    ) -> bytes | None:
        """Return the vector sum of what the agent knew before the call that brought *row*.

        Rows of the same call that are in the sum already are subtracted. Those of this *step* have
        vectors, but are not in the sum yet.
        """
        call = (model_key, row.call)
        if self._known_cache is None or self._known_cache[0] != call:
            keys = [key for key in embedding_queue.list_same_call(conn, row) if key not in step]
            self._known_cache = call, centroids.total(conn, row.agent_key, model_key, without=keys)
        return self._known_cache[1]

    async def _embed_missing(self, model_key: int, fingerprint: ModelFingerprint) -> int:
        """Embed memories that have vectors of other models only; return the number of rows.

        The search reads every row, so it runs only if the file has changed since the last one.
        Rows that arrive meanwhile are embedded first.
        """
        state = (model_key, await self.db.read(changes.last_link))
        if state == self._complete:
            return 0
        count, after = 0, 0
        while True:
            rows = await self.db.read(embedding_queue.list_missing, model_key, after, SWEEP_ROWS)
            if not rows:
                self._complete = state
                return count
            sweep = await self.embed_rows(self.filter_embeddable(rows), fingerprint)
            encoded_rows = list(zip(sweep.rows, sweep.encodings, strict=True))
            for start in range(0, len(encoded_rows), STEP_ROWS):
                step = encoded_rows[start : start + STEP_ROWS]
                work = partial(_store_renewed, model_key=model_key, step=step)
                await self.db.write(_CALLER, work)
            count, after = count + len(encoded_rows), rows[-1].memory_key
            count += await self._embed_pending(model_key, fingerprint)

    async def settle(self) -> None:
        """Wait until no row is waiting that could be embedded now."""
        await self._idle.wait()


_CALLER = Caller(client="memd", method="embed")


def _step_build(conn: Writing) -> bool:
    return vectors.step_build(conn, BUILD_ROWS)


def speaker_labels(speakers: Iterable[str | None]) -> list[str]:
    """Return the label of each distinct speaker, with which its embedded texts begin.

    >>> speaker_labels(["Ann", None, "Ann"])
    ['Ann:']
    """
    return [f"{speaker}:" for speaker in dict.fromkeys(speakers) if speaker is not None]


def emit_turned_away(emit: Emit, turned_away: Sequence[tuple[str, str]]) -> None:
    """Emit an event for each agent of *turned_away*, pairs of agent and id. Call after COMMIT."""
    by_agent: dict[str, list[str]] = {}
    for agent_id, memory_id in turned_away:
        by_agent.setdefault(agent_id, []).append(memory_id)
    for agent_id, ids in by_agent.items():
        payload = {"ids": ids[:EVENT_IDS_MAX], "turned_away": len(ids)}
        emit(agent_id, EventName.TURNED_AWAY, payload)


def emit_flagged(emit: Emit, agent_id: str, receipts: Sequence[Receipt]) -> None:
    """Emit the event of flagged memories, with the number of quarantined ones."""
    items = [
        item
        for receipt in receipts
        for item in (*receipt.stored, *receipt.pending, *receipt.turned_away, *receipt.quarantined)
        if item.flags
    ]
    if items:
        payload = {
            "ids": [item.id for item in items[:EVENT_IDS_MAX]],
            "flags": sorted({flag for item in items for flag in item.flags}),
            "flagged": len(items),
            "quarantined": sum(len(receipt.quarantined) for receipt in receipts),
        }
        emit(agent_id, EventName.FLAGGED, payload)


def _store_renewed(
    conn: Writing, model_key: int, step: Sequence[tuple[PendingRow, Encoding]]
) -> None:
    """Store vectors of existing memories and add them to the model's running sums."""
    unchanged = embedding_queue.find_unchanged(conn, [row for row, _ in step])
    step = [(row, encoding) for row, encoding in step if row.memory_key in unchanged]
    vectors_by_key = [(row.memory_key, encoding) for row, encoding in step]
    embedding_queue.store_vectors(conn, model_key, vectors_by_key)
    centroids.add_memories(conn, [row.memory_key for row, _ in step], model_key)
