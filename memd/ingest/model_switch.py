"""Switch to another embedding model in the background (decision 0182).

The current model is used until every memory has a vector of the new one. Then one transaction
switches over, while no recall is running. Progress is in the file, so the switch resumes after a
kill, a full disk or a broken model folder. It can be stopped, and undone later, because the vectors
of the previous model are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import AlreadyRunningError, InvalidStateError, MemdError, ModelError
from memd.base.finish import finish
from memd.base.ids import Ids
from memd.base.work import SharedLock, Work
from memd.domain.caller import Caller
from memd.domain.encoding import Encoding, ModelFingerprint, TokenCounter
from memd.domain.values import EVERYBODY, Emit, EventName, unheard
from memd.embedding.embed import SwitchableEmbedder
from memd.embedding.model_files import status
from memd.ingest.queue import EmbeddingQueue
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.search import model_switch
from memd.store.search.embedding_queue import PendingRow
from memd.store.search.model_switch import ModelChange, ModelNote
from memd.text.tokens import TOKENIZER_FILE

STEP_ROWS = 64  # embedded together and written in one transaction
TIDY_ROWS = 500  # vectors of unused models that one transaction removes
RETRY_SECONDS = 60.0  # after an error of disk or model
ADD_HINT = "see: memd model list; add a model: memd model add PATH"


class SwitchContext(Protocol):
    """The parts of the daemon that the switch uses."""

    @property
    def db(self) -> Database: ...
    @property
    def counter(self) -> TokenCounter: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def ids(self) -> Ids: ...
    @property
    def model_lock(self) -> SharedLock: ...
    @property
    def work(self) -> Work: ...


@dataclass
class ModelSwitch:
    """Starts, carries out, stops and undoes switches of the embedding model."""

    context: SwitchContext
    embedder: SwitchableEmbedder
    emit: Emit = unheard
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _problem: str | None = None
    _unembeddable: set[int] = field(default_factory=set)

    async def use(self, caller: Caller, name: str) -> dict[str, Any]:
        """Check the model *name* and start to switch to it.

        Does nothing if it is in use or its switch is in progress. Raises AlreadyRunningError
        while another switch is in progress, ModelError for a damaged folder or a model that does
        not run, InvalidError for an invalid name.
        """
        is_coming = await self.context.db.read(_is_coming, name)
        if not is_coming and (model := await self._check_model(name)) is not None:
            await finish(partial(self._begin, caller, name, model))
        self._problem = None
        self._wake.set()
        return await self.status()

    async def undo(self, caller: Caller) -> dict[str, Any]:
        """Stop the switch in progress, or switch back to the previous model.

        Raises InvalidStateError when the model was never changed.
        """
        change = await self.context.db.read(model_switch.current_switch)
        if change is not None:
            await self.context.db.write(caller, model_switch.cancel)
            self._problem = None
            self._emit_state("stopped", change.name)
            return await self.status()
        previous = await self.context.db.read(model_switch.previous_model)
        if previous is None:
            raise InvalidStateError("the embedding model was never changed")
        return await self.use(caller, previous.name)

    async def status(self) -> dict[str, Any]:
        """Return the model in use, the previous one, and the progress of a switch."""
        change = await self.context.db.read(model_switch.current_switch)
        previous = await self.context.db.read(model_switch.previous_model)
        report: dict[str, Any] = {
            "in_use": self.embedder.name,
            "before": previous.name if previous else None,
            "coming": None,
        }
        if change is not None:
            done, total = await self.context.db.read(model_switch.progress, change)
            report["coming"] = {
                "name": change.name,
                "dimension": change.dimension,
                "since": from_us(change.since_us).isoformat(),
                "done": done,
                "total": total,
                "problem": self._problem,
            }
        return report

    async def run(self) -> None:
        """Carry out switches for ever. Errors are reported in the status and retried."""
        while True:
            self._wake.clear()
            try:
                pause = None if await self.carry_out() else RETRY_SECONDS
            except MemdError as error:
                self._problem, pause = error.message, RETRY_SECONDS
                log.warning("the change of model waits", kind=error.kind)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    async def carry_out(self) -> bool:
        """Carry out the switch in progress, if any; return False if it must be tried again.

        That is so while memories arrive faster than the new model embeds them.
        """
        change = await self.context.db.read(model_switch.current_switch)
        if change is None:
            return True
        if not await self._migrate(change):
            return False
        while await self.context.db.write(
            _CALLER, partial(model_switch.delete_unused_vectors, rows=TIDY_ROWS)
        ):
            pass
        return True

    async def _check_model(self, name: str) -> ModelFingerprint | None:
        """Return the fingerprint of the model *name* after running it; None if it is in use."""
        state = await self.context.work.run(status, self.embedder.folder(name))
        if state.fingerprint is None:
            raise ModelError(f"{name}: {state.problem}", hint=ADD_HINT)
        if state.fingerprint == self.embedder.fingerprint:
            return None
        if TOKENIZER_FILE not in {file.name for file in state.files}:
            raise ModelError(f"{name} lacks {TOKENIZER_FILE}", hint=ADD_HINT)
        try:
            await self.embedder.embedder_of(name).embed(["memd"])
        except MemdError as error:
            raise ModelError(f"{name} does not run: {error.message}", hint=ADD_HINT) from error
        return state.fingerprint

    async def _begin(self, caller: Caller, name: str, model: ModelFingerprint) -> None:
        """Record the switch and wake the task that carries it out."""
        now_us = self.context.clock.now_us()

        def work(conn: Writing) -> bool:
            if _is_coming(conn, name):  # started while the model was checked, which takes seconds
                return False
            model_switch.begin(conn, name, model, now_us)
            return True

        if await self.context.db.write(caller, work):
            self._unembeddable.clear()
            self._emit_state("began", name)
        self._wake.set()

    async def _migrate(self, change: ModelChange) -> bool:
        model = self.embedder.embedder_of(change.name).fingerprint
        if model is None or str(model) != change.fingerprint:
            raise ModelError(f"the folder of {change.name} no longer holds the model of before")
        for _ in range(3):  # rows that arrive meanwhile need another round
            await self._embed(change, model)
            while await self._write_if_current(change, partial(model_switch.step, change=change)):
                pass
            if await self.context.db.read(model_switch.current_switch) != change:
                return True  # it was stopped
            if await self._switch_over(change):
                self._emit_state("changed", change.name)
                return True
        return False

    async def _embed(self, change: ModelChange, model: ModelFingerprint) -> None:
        """Store a vector of the new model for every memory, oldest first."""
        context, embedder = self.context, self.embedder.embedder_of(change.name)
        queue = EmbeddingQueue(context.db, embedder, context.counter, context.clock, context.ids)
        after = 0
        while rows := await self.context.db.read(
            model_switch.list_missing, change, after, STEP_ROWS
        ):
            sweep = await queue.embed_rows(rows, model)
            self._unembeddable |= {r.memory_key for r in rows} - {r.memory_key for r in sweep.rows}
            step = list(zip(sweep.rows, sweep.encodings, strict=True))
            if not await self._write_if_current(
                change, partial(_store_step, change=change, step=step)
            ):
                return
            self._problem = None
            after = rows[-1].memory_key

    async def _write_if_current(self, change: ModelChange, work: Any) -> bool:
        """Run *work* unless the switch was stopped meanwhile; return whether it returned true."""

        def write(conn: Writing) -> bool:
            return model_switch.current_switch(conn) == change and bool(work(conn))

        return await self.context.db.write(_CALLER, write)

    async def _switch_over(self, change: ModelChange) -> bool:
        """Switch over while no recall holds the lock, so that each uses one model throughout."""
        async with self.context.model_lock.exclusive():
            leaving = ModelNote(self.embedder.name, str(self.embedder.fingerprint))
            work = partial(
                model_switch.complete, change=change, leaving=leaving, unable=self._unembeddable
            )
            if not await self._write_if_current(change, work):
                return False
            self.embedder.serve(change.name)
            return True

    def _emit_state(self, state: str, name: str) -> None:
        self.emit(EVERYBODY, EventName.MODEL, {"state": state, "model": name})


_CALLER = Caller(client="memd", method="model")


def _is_coming(conn: Reading, name: str) -> bool:
    """Return whether a switch to *name* is in progress; raise AlreadyRunningError for another."""
    change = model_switch.current_switch(conn)
    if change is not None and change.name != name:
        raise AlreadyRunningError(
            f"memd is changing to {change.name}", hint="stop that first: memd model undo"
        )
    return change is not None


def _store_step(
    conn: Writing, change: ModelChange, step: Sequence[tuple[PendingRow, Encoding]]
) -> bool:
    model_switch.store_vectors(conn, change, step)
    return True
