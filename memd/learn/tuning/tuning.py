"""Tuning runs: start, cancel, resume, deploy, activate, roll back (SPEC 18.2.9).

One run at a time. Each stage is stored before the next begins, so a killed or cancelled run can
be resumed. Only a result that the verdict calls better is deployed, and a rollback activates
what was in use before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import (
    DegradedError,
    FineTuneCancelledError,
    InvalidStateError,
    MemdError,
    NotFoundError,
)
from memd.base.finish import finish
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder
from memd.domain.learn import TERMINAL, TuneRequest, TuneRun, TuneStage, TuneStatus, Verdict
from memd.domain.values import EVERYBODY, Emit, EventName
from memd.ingest.model_switch import ModelSwitch
from memd.learn.tuning.stages import FIT, HELD_OUT, Stages
from memd.recall.ranking.weights import RankerTuning, parse_tuning
from memd.recall.recall import Recall
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.learn.tunings import TuningRow

ORDER = (
    TuneStage.GENERATING_DATA,
    TuneStage.MINING_NEGATIVES,
    TuneStage.TRAINING,
    TuneStage.EVALUATING,
    TuneStage.DEPLOYING,
)
CANCELLED = "cancelled by user"
INTERRUPTED = "interrupted: memd ended while it ran"
CANCEL_S_MAX = 30.0


@dataclass
class Tuning:
    """Executes tuning runs in the background, one at a time."""

    db: Database
    clock: Clock
    ids: Ids
    recall: Recall
    embedder: Embedder
    emit: Emit
    models: ModelSwitch | None = None
    """Activates a trained encoder."""
    _work: Work = field(default_factory=lambda: Work("memd-tuning"))
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _job: asyncio.Task[None] | None = None
    _run: TuneRun | None = None
    _stop: bool = False

    async def start(
        self, caller: Caller, request: TuneRequest | None = None, *, resume: bool = False
    ) -> TuneRun:
        """Start a run, or with *resume* continue the last failed one, in the background.

        Raises InvalidStateError while one is running and when there is none to resume;
        DegradedError without an embedding model.
        """
        async with self._starting:
            if self._job is not None:
                raise InvalidStateError(
                    "memd is being tuned", hint="see how far it is: memd tune status"
                )
            if self.embedder.fingerprint is None:
                raise DegradedError(
                    "tuning needs the embedding model", hint="install it: memd model install"
                )
            request = request or TuneRequest()
            if request.encoder and not resume:
                from memd.learn.tuning.encoder import check_torch

                check_torch()
            body = await self._resume_last() if resume else self._new_run(request)
            self._stop = False
            self._run = _run_of(body, active=False)
            self._job = asyncio.create_task(self._execute(caller, body))
            return self._run

    async def status(self) -> TuneStatus:
        """Return the current stage and all stored runs."""
        rows = await self.db.read(tunings.list_runs)
        runs = [self._to_run(row) for row in rows]
        if self._run is not None:
            runs = [self._run, *(run for run in runs if run.run_id != self._run.run_id)]
        stage = TuneStage.IDLE if self._run is None else self._run.stage
        return TuneStatus(stage=stage, active=_active_of(rows), runs=tuple(runs))

    async def cancel(self) -> TuneStatus:
        """Stop the run at its next step and wait for it; InvalidStateError when none runs."""
        job = self._job
        if job is None:
            raise InvalidStateError("no tuning is running", hint="memd tune run begins one")
        self._stop = True
        await asyncio.wait([job], timeout=CANCEL_S_MAX)
        return await self.status()

    async def activate(self, caller: Caller, run_id: str) -> TuneStatus:
        """Activate the result of an earlier run.

        Raises NotFoundError, and InvalidStateError for a run that was not better or belongs to
        another embedding model.
        """
        rows = await self.db.read(tunings.list_runs)
        row = next((row for row in rows if row.run_id == run_id), None)
        if row is None:
            raise NotFoundError("there is no such run", field="run_id", hint="memd tune status")
        if not row.body["run"].get("deployed"):
            raise InvalidStateError(
                "this run made nothing better, so it is not used", hint="memd tune status"
            )
        if (model := row.body["run"].get("model")) is not None:
            raise InvalidStateError("this run trained a model", hint=f"memd model use {model}")
        if row.body["tuned"]["fingerprint"] != str(self.embedder.fingerprint):
            raise InvalidStateError("this run is of another embedding model", hint="memd tune run")
        if (active := _active_of(rows)) != run_id:
            row.body["before"] = active
        await self._use(caller, row.body)
        return await self.status()

    async def rollback(self, caller: Caller) -> TuneStatus:
        """Activate what was in use before the active run: another run's result or the defaults."""
        rows = {row.run_id: row for row in await self.db.read(tunings.list_runs)}
        active = next((row for row in rows.values() if row.active), None)
        if active is None:
            raise InvalidStateError("no tuning is in use: recall has its defaults")
        previous = rows.get(active.body.get("before") or "")
        run_id = None if previous is None else previous.run_id
        tuned = None if previous is None else parse_tuning(previous.body["tuned"])
        await self._activate(caller, lambda conn: tunings.activate(conn, run_id), tuned)
        self._emit_stage("rolled_back", active.run_id)
        return await self.status()

    async def settle(self) -> None:
        """Wait until no run is active."""
        if self._job is not None:
            await asyncio.wait([self._job])

    async def close(self) -> None:
        """Interrupt the active run, which can be resumed later."""
        if self._job is not None:
            self._stop = True
            self._job.cancel()
            await asyncio.wait([self._job])
        self._work.close()

    # The run.

    def _new_run(self, request: TuneRequest) -> dict[str, Any]:
        run = {
            "run_id": self.ids.new(),
            "stage": TuneStage.GENERATING_DATA,
            "started_at": from_us(self.clock.now_us()).isoformat(),
        }
        fingerprint = str(self.embedder.fingerprint)
        params = request.model_dump(mode="json", include=set(TuneRequest.model_fields))
        work = {"model": f"tuned-{run['run_id'][-8:]}"} if request.encoder else {}
        return {"run": run, "asked": params, "fingerprint": fingerprint, "work": work}

    async def _resume_last(self) -> dict[str, Any]:
        """Return the last run, prepared to be resumed: it failed, was cancelled or interrupted."""
        row = next(iter(await self.db.read(tunings.list_runs)), None)
        if row is None or row.body["run"]["stage"] == TuneStage.COMPLETE:
            raise InvalidStateError("there is no run to resume", hint="start one: memd tune run")
        if row.body["fingerprint"] != str(self.embedder.fingerprint):
            raise InvalidStateError("the embedding model is another one now", hint="memd tune run")
        run = row.body["run"]
        run["stage"] = row.body.get("next", TuneStage.GENERATING_DATA)
        for name in ("error", "completed_at"):
            run.pop(name, None)
        return row.body

    async def _execute(self, caller: Caller, body: dict[str, Any]) -> None:
        """Execute the stages from *body*'s on; store an error that ends them."""
        try:
            await self._stages(caller, body)
        except FineTuneCancelledError:
            await self._record_failure(caller, body, CANCELLED)
        except MemdError as error:
            await self._record_failure(caller, body, error.message)
        except Exception as error:  # noqa: BLE001  # a background task: a bug is logged and kept
            log.error("bug", method=caller.method, trace=log.trace_of(error))
            await self._record_failure(caller, body, "internal error: a bug in memd; see the log")
        finally:
            self._job = self._run = None

    async def _stages(self, caller: Caller, body: dict[str, Any]) -> None:
        models = None if self.models is None else self.models.embedder
        stages = Stages(self.recall, self.embedder, self._work, models)
        request = TuneRequest.model_validate(body["asked"])
        first = ORDER.index(TuneStage(body["run"]["stage"]))
        for at, stage in enumerate(ORDER[first:], first):
            body["run"]["stage"] = body["next"] = stage
            await self._store(caller, body)
            self._emit_stage(stage, body["run"]["run_id"])
            if stage is TuneStage.DEPLOYING:
                await self._deploy(caller, body)
                return
            body["work"] |= await stages.run(stage, body["work"], request, self._progress(body))
            _count(body)
            body["next"] = ORDER[at + 1]

    def _progress(self, body: dict[str, Any]) -> Callable[[float], None]:
        """Return the progress callback for any thread, which raises after a cancellation."""

        def progress(share: float) -> None:
            if self._stop:
                raise FineTuneCancelledError(CANCELLED)
            done = min(1.0, max(0.0, share))
            self._run = _run_of(body, active=False).model_copy(update={"progress": done})

        progress(0.0)
        return progress

    async def _deploy(self, caller: Caller, body: dict[str, Any]) -> None:
        """Complete the run, and activate its result if it is better (SPEC 18.2.8)."""
        work, run = body["work"], body["run"]
        better = Verdict.model_validate(work["verdict"]).better
        run |= {"stage": TuneStage.COMPLETE, "deployed": better, "completed_at": self._now()}
        model = work.get("model")
        if model is not None:
            await self._deploy_encoder(caller, model, better=better)
            run |= {"model": model} if better else {}
        is_used = better and model is None
        body |= {"tuned": work["made"][work["best"]] if is_used else None, "work": {}}
        body.pop("next")
        if is_used:
            body["before"] = _active_of(await self.db.read(tunings.list_runs))
            await self._use(caller, body)
        else:
            await self._store(caller, body)
        self._emit_stage("deployed" if better else "refused", run["run_id"])

    async def _deploy_encoder(self, caller: Caller, model: str, *, better: bool) -> None:
        """Switch to the trained model if it is better, else remove it."""
        from memd.learn.tuning import encoder

        assert self.models is not None
        if better:
            await self.models.use(caller, model)
        else:
            await encoder.remove_model(self.models.embedder, self._work, model)

    async def _use(self, caller: Caller, body: dict[str, Any]) -> None:
        now_us = self.clock.now_us()

        def work(conn: Writing) -> None:
            tunings.put(conn, body["run"]["run_id"], body, now_us)
            tunings.activate(conn, body["run"]["run_id"])

        await self._activate(caller, work, parse_tuning(body["tuned"]))

    async def _activate(
        self, caller: Caller, work: Callable[[Writing], None], tuned: RankerTuning | None
    ) -> None:
        """Write, then let recall use *tuned*; a cancelled caller interrupts neither."""

        async def change() -> None:
            await self.db.write(caller, work)
            self.recall.tuning.activate(tuned)

        await finish(change)

    async def _record_failure(self, caller: Caller, body: dict[str, Any], why: str) -> None:
        run = body["run"]
        run |= {"stage": TuneStage.FAILED, "error": why, "completed_at": self._now()}
        try:
            await self._store(caller, body)
        except MemdError as error:  # such as a full disk; the run will be listed as interrupted
            log.error("a tuning could not be noted", kind=error.kind)
        self._emit_stage(TuneStage.FAILED, run["run_id"])

    async def _store(self, caller: Caller, body: dict[str, Any]) -> None:
        now_us = self.clock.now_us()
        run_id = body["run"]["run_id"]
        await self.db.write(caller, lambda conn: tunings.put(conn, run_id, body, now_us))

    def _to_run(self, row: TuningRow) -> TuneRun:
        """Return a stored run; one stored as running, which it is not, was interrupted."""
        body = row.body
        if body["run"]["stage"] not in TERMINAL:
            ended = {"stage": TuneStage.FAILED, "error": INTERRUPTED, "completed_at": self._now()}
            body = {**body, "run": {**body["run"], **ended}}
        return _run_of(body, active=row.active)

    def _now(self) -> str:
        return from_us(self.clock.now_us()).isoformat()

    def _emit_stage(self, what: str, run_id: str) -> None:
        self.emit(EVERYBODY, EventName.TUNED, {"run_id": run_id, "stage": str(what)})


def _active_of(rows: Sequence[TuningRow]) -> str | None:
    return next((row.run_id for row in rows if row.active), None)


def _run_of(body: dict[str, Any], *, active: bool) -> TuneRun:
    return TuneRun.model_validate({**body["run"], "active": active})


def _count(body: dict[str, Any]) -> None:
    """Copy counts and verdict of the work into the run."""
    work, run = body["work"], body["run"]
    parts = [part for _, part in work.get("pairs", ())]
    run["pairs"] = len(parts)
    run["training"], run["held_out"] = parts.count(FIT), parts.count(HELD_OUT)
    run |= {"trained": work.get("best"), "verdict": work.get("verdict")}
