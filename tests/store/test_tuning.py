"""SPEC 18.2, D17 on a real file: runs of tuning, what they may activate, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from support.fakes import HashEmbedder
from support.store import ADA, a_house, tell
from support.tuning_data import a_tuning, run_of, talked, worse

from memd.backends.rooms import Rooms
from memd.base.errors import DegradedError, InvalidStateError, NotFoundError
from memd.domain.learn import TuneRequest, TuneRun, TuneStage
from memd.domain.recall import RecallRequest
from memd.learn.tuning import stages, tuning
from memd.learn.tuning.stages import Stages
from memd.learn.tuning.tuning import Tuning
from memd.recall.ranking.weights import WITHOUT_TOKENS, RankerTuning, TuningTrial
from memd.store.file.connect import Reading, Writing
from memd.store.learn import tunings

PAIRS = 60
MORE_PAIRS = 90
"""So many that of memd's own limit of held-out pairs there are enough."""
ASKED = RecallRequest(query="Why was the cache repaired?", top_k=10, why=True)


def made_by(tuned: RankerTuning) -> Any:
    """Return a training stage that makes *tuned* of whatever it is given."""

    async def trained(self: Stages, done: Any, request: TuneRequest, progress: Any) -> Any:
        del self, done, request, progress
        return {"made": {"both": tuned.body()}}

    return trained


@pytest.fixture
def few_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let as few pairs be held out as tell a better result from a worse: each costs recalls."""
    monkeypatch.setattr(stages, "HELD_OUT_PAIRS_MIN", 8)


@pytest.fixture
async def room(house: Rooms, few_held_out: None) -> AsyncIterator[Tuning]:
    """Yield what tunes on a store in which there was talk enough."""
    await talked(house, PAIRS)
    room = a_tuning(house)
    yield room
    await room.close()


async def test_a_run_makes_pairs_trains_judges_and_says_what_came_of_it(house: Rooms) -> None:
    await talked(house, MORE_PAIRS)
    room = a_tuning(house)

    run = await run_of(room)

    await room.close()
    assert run.stage is TuneStage.COMPLETE, run.error
    assert run.pairs >= MORE_PAIRS * 0.9
    assert run.training > run.held_out >= 20
    assert run.verdict is not None
    assert run.verdict.questions == run.held_out
    assert run.deployed == run.verdict.better == run.active


async def test_the_weights_are_fitted_only_when_that_is_asked_for(
    room: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []
    trained = Stages._train

    async def noted(self: Stages, *args: Any) -> dict[str, Any]:
        made.append(await trained(self, *args))
        return made[-1]

    monkeypatch.setattr(Stages, "_train", noted)
    await run_of(room)
    await run_of(room, TuneRequest(weights=True))

    assert [sorted(one["made"]) for one in made] == [["adapter"], ["adapter", "both", "weights"]]
    shipped = dict(WITHOUT_TOKENS.features)  # the model gives no token vectors
    assert made[0]["made"]["adapter"]["features"] == shipped
    assert made[0]["made"]["adapter"]["matrix"] is not None
    assert made[1]["made"]["weights"]["features"] != shipped
    assert made[1]["made"]["weights"]["matrix"] is None


async def test_each_stage_and_what_came_of_it_is_told_to_listeners(room: Tuning) -> None:
    heard: list[tuple[str, str, Any]] = []
    room.emit = lambda agent_id, name, body: heard.append((agent_id, name, body["stage"]))

    run = await run_of(room)

    end = "deployed" if run.deployed else "refused"
    assert [stage for _, _, stage in heard] == [*tuning.ORDER, end]
    assert {(agent_id, name) for agent_id, name, _ in heard} == {("*", "event.tuned")}


async def test_a_question_is_not_answered_by_itself_nor_by_what_it_lends_to_its_neighbours(
    house: Rooms,
) -> None:
    first, answer = await tell(
        house,
        "Which harbour do the herring boats leave from?",
        "They sail from Kivik every morning, weather or not.",
        session_id="s",
        speaker="Bo",
    )
    query = "Which harbour do the herring boats leave from?"
    keys = await house.db.read(_keys, [first, answer])

    evaluation = await house.recall.evaluate(ADA, query, TuningTrial(None))
    alone = await house.recall.evaluate(ADA, query, TuningTrial(None, keys[0]))

    assert len(evaluation.items) == 2
    (item,) = alone.items
    assert item.measured.candidate.memory_key == keys[1]
    assert item.measured.candidate.context.strip() == ""
    assert item.measured.features["bmxn"] == 0.0
    assert item.measured.features["nlift"] <= 0.0
    beside = next(i for i in evaluation.items if i.measured.candidate.memory_key == keys[1])
    assert beside.measured.features["bmxn"] > 0.0, "the context counts otherwise"


async def test_what_a_run_stores_holds_no_text_and_its_work_goes_with_its_end(
    house: Rooms, room: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[str] = []
    store = room._store

    async def noted(*args: Any) -> None:
        await store(*args)
        bodies.append(str(await house.db.read(_bodies)))

    monkeypatch.setattr(room, "_store", noted)
    await run_of(room)

    assert len(bodies) >= 5
    assert not [body for body in bodies if "because" in body or "ticket" in body]
    assert '"work": {}' in str(await house.db.read(_bodies))


async def test_a_worse_result_is_not_put_to_use(
    house: Rooms, room: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: a deployment that does not ask the verdict (SPEC 18.2.8) fails here."""
    before = await house.recall.recall(ADA, ASKED)
    monkeypatch.setattr(Stages, "_train", made_by(worse(house.embedder.fingerprint)))

    run = await run_of(room)

    assert run.stage is TuneStage.COMPLETE
    assert run.verdict is not None
    assert run.verdict.tuned_ndcg < run.verdict.base_ndcg
    assert (run.deployed, run.active) == (False, False)
    assert (await room.status()).active is None
    assert await house.recall.recall(ADA, ASKED) == before
    with pytest.raises(InvalidStateError, match="nothing better"):
        await room.activate(ADA, run.run_id)


async def test_what_is_as_good_as_before_is_not_put_to_use_either(
    house: Rooms, room: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = RankerTuning(str(house.embedder.fingerprint), WITHOUT_TOKENS)
    monkeypatch.setattr(Stages, "_train", made_by(same))

    run = await run_of(room)

    assert run.verdict is not None
    assert run.verdict.tuned_ndcg == run.verdict.base_ndcg
    assert not run.deployed


async def test_a_better_result_is_used_at_once_after_a_start_and_can_be_taken_back(
    path: Path, few_held_out: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(path) as house:
        await talked(house, PAIRS)
        room = a_tuning(house)
        fingerprint = house.embedder.fingerprint
        shipped = await house.recall.recall(ADA, ASKED)
        house.recall.tuning.activate(worse(fingerprint))  # beside it what was shipped is better
        monkeypatch.setattr(Stages, "_train", made_by(RankerTuning(str(fingerprint), bare())))

        run = await run_of(room)

        assert (run.deployed, run.active) == (True, True)
        used = await house.recall.recall(ADA, ASKED)
        assert scores(used) != scores(shipped)
        await room.close()
    async with a_house(path) as house:
        room = a_tuning(house)
        assert scores(await house.recall.recall(ADA, ASKED)) == scores(used)
        assert (await room.status()).active == run.run_id

        assert (await room.rollback(ADA)).active is None

        assert await house.recall.recall(ADA, ASKED) == shipped
        with pytest.raises(InvalidStateError, match="no tuning is in use"):
            await room.rollback(ADA)
        assert (await room.activate(ADA, run.run_id)).active == run.run_id
        assert scores(await house.recall.recall(ADA, ASKED)) == scores(used)
        with pytest.raises(NotFoundError):
            await room.activate(ADA, "no-run")
        await room.close()


async def test_a_cancelled_rollback_takes_back_what_recall_uses_too(
    house: Rooms,
) -> None:
    room, tuned = a_tuning(house), worse(house.embedder.fingerprint)
    run = {"run_id": "r", "stage": TuneStage.COMPLETE, "deployed": True}
    body = {"run": run | {"started_at": house.clock.now_us()}, "tuned": tuned.body()}

    def use(conn: Writing) -> None:
        tunings.put(conn, "r", body, 0)
        tunings.activate(conn, "r")

    await house.db.write(ADA, use)
    house.recall.tuning.activate(tuned)
    task = asyncio.ensure_future(room.rollback(ADA))
    while not house.db.waiting_writes:  # noqa: ASYNC110  # it is over within a pause
        await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await house.db.read(tunings.read_active) is None
    assert house.recall.tuning.for_model(house.embedder.fingerprint) is None


async def test_under_another_model_recall_is_as_shipped(house: Rooms) -> None:
    await talked(house, PAIRS)
    shipped = await house.recall.recall(ADA, ASKED)
    house.recall.tuning.activate(worse("another model"))

    assert await house.recall.recall(ADA, ASKED) == shipped


async def test_too_few_pairs_are_an_error_that_says_how_many_there_are(house: Rooms) -> None:
    await talked(house, 5)
    room = a_tuning(house)

    run = await run_of(room)

    assert run.stage is TuneStage.FAILED
    assert "too few pairs to tune on" in str(run.error)
    assert f"{stages.PAIRS_MIN} questions with an answer are needed" in str(run.error)
    await room.close()


async def test_without_a_model_there_is_nothing_to_tune(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=HashEmbedder(present=False)) as house:
        with pytest.raises(DegradedError, match="embedding model"):
            await a_tuning(house).start(ADA)


async def test_a_cancelled_run_is_gone_on_with_and_does_no_stage_twice(
    room: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[TuneStage] = []
    run_stage = Stages.run

    async def counted(self: Stages, stage: TuneStage, *args: Any) -> dict[str, Any]:
        if stage is TuneStage.TRAINING and stage not in done:
            done.append(stage)
            await cancelled()
        done.append(stage)
        return await run_stage(self, stage, *args)

    async def cancelled() -> None:
        room._stop = True

    monkeypatch.setattr(Stages, "run", counted)
    first = await run_of(room)
    assert (first.stage, first.error) == (TuneStage.FAILED, tuning.CANCELLED)

    second = await run_of(room, resume=True)

    assert second.run_id == first.run_id
    assert second.stage is TuneStage.COMPLETE
    assert done.count(TuneStage.GENERATING_DATA) == done.count(TuneStage.MINING_NEGATIVES) == 1
    with pytest.raises(InvalidStateError, match="no run to resume"):
        await room.start(ADA, resume=True)


async def test_one_run_at_a_time_and_cancelling_needs_one(room: Tuning) -> None:
    with pytest.raises(InvalidStateError, match="no tuning is running"):
        await room.cancel()
    await room.start(ADA)
    with pytest.raises(InvalidStateError, match="being tuned"):
        await room.start(ADA)

    status = await room.cancel()

    assert status.stage is TuneStage.IDLE
    assert status.runs[0].error == tuning.CANCELLED


async def test_a_run_is_resumed_once(room: Tuning) -> None:
    await room.start(ADA)
    await room.cancel()

    first, second = await asyncio.gather(
        *(room.start(ADA, resume=True) for _ in range(2)), return_exceptions=True
    )

    assert isinstance(first, TuneRun)
    assert isinstance(second, InvalidStateError)


async def test_a_pair_whose_memory_is_forgotten_meanwhile_is_passed_over(
    house: Rooms, few_held_out: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talked(house, PAIRS + 30)
    room = a_tuning(house)
    run_stage = Stages.run

    async def forgetful(self: Stages, stage: TuneStage, *args: Any) -> dict[str, Any]:
        if stage is TuneStage.MINING_NEGATIVES:
            entries, _ = await house.recall.list(ADA, ASKED, None, 40)
            for entry in entries:
                await house.trash.delete(ADA, entry.id)
        return await run_stage(self, stage, *args)

    monkeypatch.setattr(Stages, "run", forgetful)

    run = await run_of(room)

    assert run.stage is TuneStage.COMPLETE, run.error
    await room.close()


def bare() -> Any:
    """Return the shipped weights less one, so that scores tell which are in use."""
    features = {**WITHOUT_TOKENS.features, "isq": WITHOUT_TOKENS.features["isq"] - 0.5}
    return replace(WITHOUT_TOKENS, features=MappingProxyType(features))


def scores(result: Any) -> list[tuple[str, float]]:
    return [(memory.id, memory.why.features["score"]) for memory in result.memories if memory.why]


def _bodies(conn: Reading) -> list[str]:
    return [str(body) for (body,) in conn.execute("SELECT body FROM weights")]


def _keys(conn: Reading, ids: list[str]) -> list[int]:
    find = "SELECT memory_key FROM memory WHERE memory_id = ?"
    return [int(str(conn.execute(find, (each,)).get)) for each in ids]
