"""The embedding queue: rows without a vector get one, single texts before bulk.

The queue is the rows themselves, so it survives a kill and needs no replay.
While one batch is being written the next is being embedded. A model that was
installed, or changed, while the daemon runs is noticed at the next look: rows
of an older model are embedded anew, and are found by words meanwhile.
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
from memd.base.shared_lock import SharedLock
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, ModelFingerprint, TokenCounter
from memd.domain.enums import ArchiveReason
from memd.domain.ingest import Receipt
from memd.domain.values import Emit, EventName, unheard
from memd.store.access import changes
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import removal
from memd.store.search import centroids, pending, vectors
from memd.store.search.pending import PendingRow

SWEEP_ROWS = 256  # embedded together, sorted by length
STEP_ROWS = 64  # written in one transaction
BUILD_ROWS = 500  # of a model that was here before: taken into its cache in one transaction
LOOK_SECONDS = 5.0  # how often a model is looked for while there is none


class _Vectors(NamedTuple):
    """The rows of a sweep that could be embedded, their vectors, and those of their speakers."""

    rows: list[PendingRow]
    own: list[bytes]
    voices: dict[str, bytes]


@dataclass
class EmbeddingQueue:
    """Gives vectors to the rows that wait for one."""

    db: Database
    embedder: Embedder
    counter: TokenCounter
    clock: Clock
    ids: Ids
    emit: Emit = unheard
    model_lock: SharedLock = field(default_factory=SharedLock)
    """The model does not change while its cache is looked for."""
    _before: tuple[object, bytes | None] | None = None
    """What was known before the call whose rows were scored last."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _unable: set[tuple[int, str]] = field(default_factory=set)
    """Rows whose text the model fails on, alone: found by words, tried again after a restart."""
    _complete: tuple[int, bytes] | None = None
    """The model, and the audit's head, for which no row was without a vector when last looked."""
    _expecting: bool = False

    def wake(self) -> None:
        """Say that there are rows to embed."""
        self._idle.clear()
        self._wake.set()

    def expect(self) -> None:
        """Say that there will be rows in a moment: a model is loaded meanwhile."""
        self._expecting = True
        self.wake()

    async def run(self) -> None:
        """Work for ever. Faults of model or disk are logged and tried again."""
        self.wake()
        while True:
            try:
                await self._load()
                await self.drain()
            except UnavailableError as error:
                log.warning("embedding waits", kind=error.kind)
            except MemdError as error:
                log.error("embedding failed", kind=error.kind)
            self._idle.set()
            await self._rest()

    async def _load(self) -> None:
        expecting, self._expecting = self._expecting, False
        if expecting and self.embedder.fingerprint is not None and not self.embedder.loaded:
            await self.embedder.embed(["memd"], bulk=True)

    async def _rest(self) -> None:
        self._wake.clear()
        # Not wait_for: woken and cancelled at once, it forgets that it was cancelled.
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._wake.wait()

    async def drain(self) -> int:
        """Embed until nothing waits and return how many rows got a vector; 0 without a model.

        Raises DegradedError when the model changes meanwhile: what was embedded last is dropped.
        """
        async with self.model_lock.shared():
            fingerprint = self.embedder.fingerprint
            if fingerprint is None or self.db.read_only:
                return 0
            model_key = await self._adopt(fingerprint)
        done = await self._first_vectors(model_key, fingerprint)
        return done + await self._new_vectors(model_key, fingerprint)

    async def _adopt(self, fingerprint: ModelFingerprint) -> int:
        """Make the installed model's cache the live one; rows of another model are then missing.

        A model that was here before has vectors: they are in its cache before it is live.
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
        known = await self.db.read(vectors.find_model, str(fingerprint))
        while live is None or known != live.model_key:
            known = await self.db.write(_CALLER, start)
            live = await self.db.read(vectors.current_cache)
            while live is None or known != live.model_key:
                if not await self.db.write(_CALLER, _step_build):
                    live = await self.db.read(vectors.current_cache)
                    break
        return live.model_key

    async def _first_vectors(self, model_key: int, fingerprint: ModelFingerprint) -> int:
        """Embed what is pending in sweeps, writing one while the next is embedded."""
        done = 0
        writing: asyncio.Task[None] | None = None
        in_flight: frozenset[int] = frozenset()
        try:
            while True:
                most = SWEEP_ROWS + len(in_flight) + len(self._unable)
                rows = self.able(await self.db.read(pending.list_pending, most))
                rows = [row for row in rows if row.memory_key not in in_flight][:SWEEP_ROWS]
                if not rows and writing is None:
                    return done
                first = await self.vectors_of(rows, fingerprint)
                if writing is not None:
                    await writing
                writing, in_flight = None, frozenset()
                if first.rows:
                    writing = asyncio.create_task(self._write(model_key, first))
                    in_flight = frozenset(row.memory_key for row in first.rows)
                    done += len(first.rows)
        finally:
            if writing is not None:
                await writing

    def able(self, rows: Sequence[PendingRow]) -> list[PendingRow]:
        return [row for row in rows if (row.memory_key, row.own) not in self._unable]

    async def vectors_of(self, rows: Sequence[PendingRow], model: ModelFingerprint) -> _Vectors:
        """Embed a sweep; one that fails is halved until the text that the model fails on is found.

        That text is left to words, if the model does embed another one.
        """
        if not rows:
            return _Vectors([], [], {})
        names = voices(row.speaker for row in rows)
        try:
            embedded = await self._embed([*(row.own for row in rows), *names], model)
        except EmbeddingError:
            half = len(rows) // 2
            if half:
                first = await self.vectors_of(rows[:half], model)
                rest = await self.vectors_of(rows[half:], model)
                return _Vectors(
                    first.rows + rest.rows, first.own + rest.own, first.voices | rest.voices
                )
            await self._embed([f"memory {rows[0].memory_id}"], model)
            self._unable.add((rows[0].memory_key, rows[0].own))
            log.warning("a memory cannot be embedded", memory_id=rows[0].memory_id)
            return _Vectors([], [], {})
        return _Vectors(
            list(rows), embedded[: len(rows)], dict(zip(names, embedded[len(rows) :], strict=True))
        )

    async def _embed(self, texts: Sequence[str], model: ModelFingerprint) -> list[bytes]:
        arrays = await self.embedder.embed(texts, bulk=True)
        if self.embedder.fingerprint != model:
            raise DegradedError("the model changed while texts were embedded")
        for vector in arrays:
            vectors.validate(vector, model.dimension)
        return arrays

    def _judged(self, near: float | None, text: str) -> tuple[float, bool]:
        """Return the importance of a stream's text, and whether that is enough to stay."""
        from memd.text.importance import importance, is_kept, novelty, salience

        score = importance(novelty(near), salience(text, self.counter))
        return score, is_kept(score)

    async def _write(self, model_key: int, computed: _Vectors) -> None:
        for start in range(0, len(computed.rows), STEP_ROWS):
            step = list(zip(computed.rows, computed.own, strict=True))[start : start + STEP_ROWS]
            turned = await self.db.write(
                _CALLER, partial(self._gate, model_key=model_key, step=step, voiced=computed.voices)
            )
            tell_turned_away(self.emit, turned)

    def _gate(
        self,
        conn: Writing,
        model_key: int,
        step: Sequence[tuple[PendingRow, bytes]],
        voiced: Mapping[str, bytes],
    ) -> list[tuple[str, str]]:
        """Store vectors, score what has no importance yet, archive what falls below (SPEC D4).

        Rows without an importance are a stream's, still to be judged: those of one call
        against what was known before it, also where a restart lies between them. Returns
        agent and id of what was turned away.
        """
        now_us = self.clock.now_us()
        there = pending.find_unchanged(conn, [row for row, _ in step])
        step = [(row, vector) for row, vector in step if row.memory_key in there]
        pending.store_vectors(conn, model_key, [(row.memory_key, vector) for row, vector in step])
        kept: list[tuple[PendingRow, bytes]] = []
        turned: list[PendingRow] = []
        for row, vector in step:
            stays = True
            if row.importance is None:
                known = self._known_before(conn, model_key, row, there)
                near = centroids.similarity(conn, known, vector, voiced.get(f"{row.speaker}:"))
                score, stays = self._judged(near, row.content)
                pending.set_importance(conn, row.memory_key, score)
            if stays:
                kept.append((row, vector))
            else:
                turned.append(row)
        centroids.add_memories(conn, [row.memory_key for row, _ in kept], model_key)
        pending.activate(conn, [row.memory_key for row, _ in kept])
        away = [row.memory_key for row in turned]
        removal.archive(conn, away, ArchiveReason.LOW_IMPORTANCE, now_us, new_id=self.ids.new)
        return [(row.agent_id, row.memory_id) for row in turned]

    def _known_before(
        self, conn: Writing, model_key: int, row: PendingRow, step: frozenset[int]
    ) -> bytes | None:
        """Return the sum of what the agent knew before the call that *row* came by.

        The rows of this *step* have vectors already, but are in no sum yet.
        """
        call = (model_key, row.call)
        if self._before is None or self._before[0] != call:
            keys = [key for key in pending.list_same_call(conn, row) if key not in step]
            self._before = call, centroids.total(conn, row.agent_key, model_key, without=keys)
        return self._before[1]

    async def _new_vectors(self, model_key: int, fingerprint: ModelFingerprint) -> int:
        """Embed rows that have a vector of another model only; they are looked for after a change.

        Looking reads every row, which is too much for every few seconds of an idle day.
        """
        now = (model_key, await self.db.read(changes.head))
        if now == self._complete:
            return 0
        done, after = 0, 0
        while True:
            rows = await self.db.read(pending.list_missing, model_key, after, SWEEP_ROWS)
            if not rows:
                self._complete = now
                return done
            computed = await self.vectors_of(self.able(rows), fingerprint)
            step = list(zip(computed.rows, computed.own, strict=True))
            await self.db.write(_CALLER, partial(_renew, model_key=model_key, step=step))
            done, after = done + len(step), rows[-1].memory_key

    async def settle(self) -> None:
        """Wait until nothing waits for a vector that could have one now."""
        await self._idle.wait()


_CALLER = Caller(client="memd", method="embed")


def _step_build(conn: Writing) -> bool:
    return vectors.step_build(conn, BUILD_ROWS)


def voices(speakers: Iterable[str | None]) -> list[str]:
    """Return what stands for each distinct speaker alone, in the form in which own words begin.

    >>> voices(["Ann", None, "Ann"])
    ['Ann:']
    """
    return [f"{speaker}:" for speaker in dict.fromkeys(speakers) if speaker is not None]


def tell_turned_away(emit: Emit, turned: Sequence[tuple[str, str]]) -> None:
    """Tell who listens what was turned away, given as agent and id; after COMMIT."""
    by_agent: dict[str, list[str]] = {}
    for agent_id, memory_id in turned:
        by_agent.setdefault(agent_id, []).append(memory_id)
    for agent_id, ids in by_agent.items():
        payload = {"ids": ids[:EVENT_IDS_MAX], "turned_away": len(ids)}
        emit(agent_id, EventName.TURNED_AWAY, payload)


def tell_flagged(emit: Emit, agent_id: str, receipts: Sequence[Receipt]) -> None:
    """Tell who listens what looks suspicious, and how much of it was set aside."""
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


def _renew(conn: Writing, model_key: int, step: Sequence[tuple[PendingRow, bytes]]) -> None:
    """Store vectors of a new model and add to its running sums what belongs to them."""
    unchanged = pending.find_unchanged(conn, [row for row, _ in step])
    step = [(row, vector) for row, vector in step if row.memory_key in unchanged]
    pending.store_vectors(conn, model_key, [(row.memory_key, vector) for row, vector in step])
    centroids.add_memories(conn, [row.memory_key for row, _ in step], model_key)
