"""A change of the embedding model, beside everything else.

The model in use answers until each memory has a vector of the coming one; then one
transaction changes over, between two questions (docs/decisions/0182). What is done is in
the file: a kill, a full disk or a broken folder costs no vector, and the change goes on when
it can. It can be stopped, and undone: the vectors of the model before are kept.
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
from memd.base.ids import Ids
from memd.base.shared_lock import SharedLock
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import ModelFingerprint, TokenCounter
from memd.domain.values import EVERYBODY, Emit, EventName, unheard
from memd.embedding.chosen import ChosenEmbedder
from memd.embedding.model_files import status
from memd.ingest.queue import EmbeddingQueue
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.search import model_switch
from memd.store.search.model_switch import ModelChange, ModelNote
from memd.store.search.pending import PendingRow
from memd.text.tokens import TOKENIZER_FILE

STEP_ROWS = 64  # embedded together and written in one transaction
TIDY_ROWS = 500  # vectors of forgotten models that one transaction removes
RETRY_SECONDS = 60.0  # after a fault of disk or model
ADD_HINT = "see: memd model list; add a model: memd model add PATH"


class SwitchGround(Protocol):
    """What the change stands on."""

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
    """The room's needs, handed in by the daemon."""

    ground: SwitchGround
    embedder: ChosenEmbedder
    emit: Emit = unheard
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _problem: str | None = None
    _unable: set[int] = field(default_factory=set)

    async def use(self, caller: Caller, name: str) -> dict[str, Any]:
        """Begin to change to the model *name*; what it needs is checked first.

        Nothing happens for the model in use, or one that is already coming. Raises
        AlreadyRunningError while another one is coming, ModelError for a folder that is
        damaged or whose model does not run, InvalidError for what is no name.
        """
        change = await self.ground.db.read(model_switch.current_switch)
        if change is not None and change.name != name:
            raise AlreadyRunningError(
                f"memd is changing to {change.name}", hint="stop that first: memd model undo"
            )
        if change is None and (model := await self._checked(name)) is not None:
            now_us = self.ground.clock.now_us()
            await self.ground.db.write(
                caller, lambda conn: model_switch.begin(conn, name, model, now_us)
            )
            self._unable.clear()
            self._tell("began", name)
        self._problem = None
        self._wake.set()
        return await self.status()

    async def undo(self, caller: Caller) -> dict[str, Any]:
        """Stop the change under way, or change back to the model before.

        Raises InvalidStateError when nothing was ever changed.
        """
        change = await self.ground.db.read(model_switch.current_switch)
        if change is not None:
            await self.ground.db.write(caller, model_switch.cancel)
            self._problem = None
            self._tell("stopped", change.name)
            return await self.status()
        last = await self.ground.db.read(model_switch.previous_model)
        if last is None:
            raise InvalidStateError("the embedding model was never changed")
        return await self.use(caller, last.name)

    async def status(self) -> dict[str, Any]:
        """Return which model is in use, which was before, and how far a change is."""
        change, last = (
            await self.ground.db.read(model_switch.current_switch),
            await self.ground.db.read(model_switch.previous_model),
        )
        report: dict[str, Any] = {
            "in_use": self.embedder.name,
            "before": last.name if last else None,
            "coming": None,
        }
        if change is not None:
            done, total = await self.ground.db.read(model_switch.progress, change)
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
        """Work for ever: carry out the change under way. Faults are told and tried again."""
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
        """Carry out the change under way, if any; False when the model has still to catch up."""
        change = await self.ground.db.read(model_switch.current_switch)
        if change is None:
            return True
        if not await self._carried_out(change):
            return False
        while await self.ground.db.write(
            _CALLER, partial(model_switch.delete_unused_vectors, rows=TIDY_ROWS)
        ):
            pass
        return True

    async def _checked(self, name: str) -> ModelFingerprint | None:
        """Return the identity of a model that runs; None when it is the one in use."""
        state = await self.ground.work.run(status, self.embedder.folder(name))
        if state.fingerprint is None:
            raise ModelError(f"{name}: {state.problem}", hint=ADD_HINT)
        if state.fingerprint == self.embedder.fingerprint:
            return None
        if TOKENIZER_FILE not in {file.name for file in state.files}:
            raise ModelError(f"{name} lacks {TOKENIZER_FILE}", hint=ADD_HINT)
        try:
            await self.embedder.of(name).embed(["memd"])
        except MemdError as error:
            raise ModelError(f"{name} does not run: {error.message}", hint=ADD_HINT) from error
        return state.fingerprint

    async def _carried_out(self, change: ModelChange) -> bool:
        model = self.embedder.of(change.name).fingerprint
        if model is None or str(model) != change.fingerprint:
            raise ModelError(f"the folder of {change.name} no longer holds the model of before")
        for _ in range(3):  # what comes meanwhile is little; a writer that never rests waits
            await self._embed(change, model)
            while await self._while_coming(change, partial(model_switch.step, change=change)):
                pass
            if await self.ground.db.read(model_switch.current_switch) != change:
                return True  # it was stopped
            if await self._changed_over(change):
                self._tell("changed", change.name)
                return True
        return False

    async def _embed(self, change: ModelChange, model: ModelFingerprint) -> None:
        """Give every memory a vector of the coming model, oldest first."""
        ground, embedder = self.ground, self.embedder.of(change.name)
        queue = EmbeddingQueue(ground.db, embedder, ground.counter, ground.clock, ground.ids)
        after = 0
        while rows := await self.ground.db.read(
            model_switch.list_missing, change, after, STEP_ROWS
        ):
            vectors = await queue.vectors_of(rows, model)
            self._unable |= {r.memory_key for r in rows} - {r.memory_key for r in vectors.rows}
            step = list(zip(vectors.rows, vectors.own, strict=True))
            if not await self._while_coming(change, partial(_give, change=change, step=step)):
                return
            self._problem = None
            after = rows[-1].memory_key

    async def _while_coming(self, change: ModelChange, work: Any) -> bool:
        """Write, unless the change was stopped meanwhile; return what *work* does."""

        def write(conn: Writing) -> bool:
            return model_switch.current_switch(conn) == change and bool(work(conn))

        return await self.ground.db.write(_CALLER, write)

    async def _changed_over(self, change: ModelChange) -> bool:
        """Change over between two questions, each of which has one model for all its steps."""
        async with self.ground.model_lock.exclusive():
            leaving = ModelNote(self.embedder.name, str(self.embedder.fingerprint))
            work = partial(
                model_switch.complete, change=change, leaving=leaving, unable=self._unable
            )
            if not await self._while_coming(change, work):
                return False
            self.embedder.serve(change.name)
            return True

    def _tell(self, state: str, name: str) -> None:
        self.emit(EVERYBODY, EventName.MODEL, {"state": state, "model": name})


_CALLER = Caller(client="memd", method="model")


def _give(conn: Writing, change: ModelChange, step: Sequence[tuple[PendingRow, bytes]]) -> bool:
    model_switch.store_vectors(conn, change, step)
    return True
