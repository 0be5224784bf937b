"""Nothing of one profile is in any answer, event, error, command or file of another (SPEC D18).

Each look is taken at both: what it finds in the profile that was written to, it would find
in the other. The methods come from the table of the socket, so a new one is asked as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from support.canaries import NOT_CALLED, asking, bytes_below, calls, planted, writing
from support.daemon import until
from support.sample_records import EXAMPLES, referred
from support.two_profiles import client_of, everything, memd, profiles_running

from memd.base.errors import MemdError
from memd.base.paths import Paths, profile_files
from memd.client import AsyncClient
from memd.records.entities import ENTITIES
from memd.serve.routes.routes import methods

MARK = "zanzibar4711"
OTHER = "kittiwake815"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
COMMANDS = (
    ("status",), ("status", "--json"), ("stats",), ("stats", "--prometheus"), ("export",),
    ("list", "-n", "200"), ("search", "lantern"), ("search", "--sessions", "lantern"), ("brief",),
    ("audit", "show"), ("client", "list"), ("agent", "list"), ("project", "list"),
    ("archive", "search"), ("archive", "turned-away"), ("trash", "list"), ("org", "query"),
    ("preference", "list"), ("shared", "search"), *(("records", name, "list") for name in ENTITIES),
    ("records", "messages", "export"), ("usage",), ("profile", "list"), ("config", "path"),
)  # fmt: skip


class Heard:
    """All events of one profile, in a task of its own."""

    def __init__(self, paths: Paths) -> None:
        self.client = AsyncClient(paths.socket, key=paths.operator_key)
        self.events: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        await self.client.connect()
        self.task = asyncio.create_task(self._listen())
        await until(lambda: bool(self.client._event_queues), "it is asked for events")
        await asyncio.sleep(0.05)
        await self.client.call("system.hello")  # is answered after what was asked before it
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task
        await self.client.disconnect()

    async def _listen(self) -> None:
        async for event in self.client.events():
            self.events.append(event)


def write_everywhere(paths: Paths, mark: str) -> None:
    """Make every writing call, its texts marked."""
    with client_of(paths) as client:
        sentence = f"The lantern {mark} hangs in the harbour"
        kept = client.call("memory.store", {"category": "semantic", "content": sentence})
        client.call("preference.set", {"name": f"lantern {mark}", "value": mark})
        client.call("shared.publish", {"content": sentence, "category": "semantic"})
        planted(client, lambda field: f"lantern {mark} {field}", {"memory": kept})
        for name, entity in ENTITIES.items():
            for other in referred(entity):
                client.call(f"records.{other}.save", {"record": EXAMPLES[other]})
            record = {**EXAMPLES[name], entity.key[-1]: f"{mark}-{name}"}
            client.call(f"records.{name}.save", {"record": record})


@pytest.fixture(scope="module")
def drilled(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, dict[str, Paths], dict[str, list[dict[str, Any]]]]]:
    """Two profiles whose names begin alike, both written to, and what was heard of each."""
    home = tmp_path_factory.mktemp("home")
    with profiles_running(home, "work", "work-2") as places:
        yield home, places, asyncio.run(_written(places))


async def _written(places: dict[str, Paths]) -> dict[str, list[dict[str, Any]]]:
    async with Heard(places["work"]) as one, Heard(places["work-2"]) as second:
        await asyncio.to_thread(write_everywhere, places["work"], MARK)
        quiet = list(second.events)
        await asyncio.to_thread(write_everywhere, places["work-2"], OTHER)
        await until(lambda: len(second.events) > len(quiet), "the second profile is heard")
        return {"work": one.events, "before": quiet, "work-2": second.events}


Drilled = tuple[Path, dict[str, Paths], dict[str, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def answers(drilled: Drilled) -> tuple[dict[str, str], dict[str, str]]:
    """Return what each method that reads answers in the one and in the other."""
    _, places, _ = drilled
    with client_of(places["work"]) as one, client_of(places["work-2"]) as second:
        return everything(one), everything(second)


def test_no_answer_and_no_error_of_any_method_tells_of_the_other(
    answers: tuple[dict[str, str], dict[str, str]],
) -> None:
    first, other = answers
    assert len(first) == len([name for name, its in methods().items() if not its.writes]) - _left()
    assert {name for name, answer in first.items() if OTHER in answer} == set()
    assert {name for name, answer in other.items() if MARK in answer} == set()
    seen = {name for name, answer in first.items() if MARK in answer}
    assert seen == {name for name, answer in other.items() if OTHER in answer}
    assert {"memory.recall", "memory.list", "store.export", "inject.prepare"} <= seen


def _left() -> int:
    """Count the reading methods that are not called."""
    asked = {name for name, _ in asking(lambda _field: "lantern")}
    return len([name for name, its in methods().items() if not its.writes and name not in asked])


def test_every_method_is_called_here_or_ends_something(drilled: Drilled) -> None:
    """As ``rpc.discover`` has them: what is added there is drilled, too."""
    _, places, _ = drilled
    with client_of(places["work"]) as client:
        described = {method["name"] for method in client.call("rpc.discover")["methods"]}
    asked = {name for name, _ in asking(lambda _field: "lantern")}
    of_records = {name for name in described if name.startswith("records.")}
    assert described == asked | set(writing()) | NOT_CALLED | of_records


@pytest.mark.parametrize("name", ENTITIES)
def test_no_record_of_one_is_found_counted_or_deleted_in_the_other(
    drilled: Drilled, name: str
) -> None:
    _, places, _ = drilled
    key = {field: EXAMPLES[name][field] for field in ENTITIES[name].key}
    last = ENTITIES[name].key[-1]
    with client_of(places["work"]) as one, client_of(places["work-2"]) as second:
        for client, own, foreign in ((one, MARK, OTHER), (second, OTHER, MARK)):
            record = client.call(f"records.{name}.get", {**key, last: f"{own}-{name}"})
            assert own in json.dumps(record)
            assert client.call(f"records.{name}.get", {**key, last: f"{foreign}-{name}"}) == (
                client.call(f"records.{name}.get", {**key, last: "never"})
            )
            listed = json.dumps(client.call(f"records.{name}.list"))
            assert own in listed
            assert foreign not in listed
            if ENTITIES[name].deletes:
                gone = client.call(f"records.{name}.delete", {**key, last: f"{foreign}-{name}"})
                assert gone == {"count": 0}


def test_no_event_of_one_is_heard_in_the_other(drilled: Drilled) -> None:
    _, _, heard = drilled
    first, second = (set(ID.findall(json.dumps(heard[name]))) for name in ("work", "work-2"))
    assert first
    assert second
    assert not first & second
    assert MARK not in json.dumps(heard["work-2"])
    assert not set(ID.findall(json.dumps(heard["before"]))) & first


def test_an_id_of_the_other_is_as_unknown_as_one_that_never_was(
    drilled: Drilled, answers: tuple[dict[str, str], dict[str, str]]
) -> None:
    """Not found, and in the same words; never "denied", which would say that it is there."""
    _, places, heard = drilled
    text, own = json.dumps([answers[0], heard["work"]]), json.dumps(answers[1])
    ids = sorted({*ID.findall(text)} - {*ID.findall(own)})
    assert len(ids) > 10
    with client_of(places["work-2"]) as second:
        # The calls write, too: what they leave behind is there after the first of these.
        list(_answers(second, f"{ids[0][:-6]}00dead"))
        for foreign in (ids[0], ids[-1]):
            became = list(_answers(second, foreign))
            assert became == list(_answers(second, f"{foreign[:-6]}00beef"))
            assert any(kind == "not_found" for _, kind, _ in became)
            denied = [(name, text) for name, kind, text in became if "denied" in kind]
            assert [name for name, text in denied if "ID" in text] == []


def _answers(client: Any, named: str) -> Iterator[tuple[str, str, str]]:
    """Yield what each method that is given an id makes of *named*.

    Which event somebody may have meant by it depends on its letters alone, and is left out.
    """
    made = {"memory": named, "fact": named}
    for name, params in (*asking(lambda _field: named), *calls(lambda _field: named, made)):
        ids = {field: value for field, value in params.items() if re.fullmatch(r"\w*ids?", field)}
        if named not in json.dumps(ids) or name in {"sleep.consolidate", "store.import"}:
            continue
        try:
            client.call(name, params)
        except MemdError as error:
            hint = re.sub(r"did you mean \w+\? ", "", error.hint or "")
            yield name, error.kind, f"{error.message} {hint}".replace(named, "ID")
        else:
            yield name, "done", ""


def test_no_command_shows_anything_of_the_other(drilled: Drilled) -> None:
    home, _, _ = drilled
    seen = set()
    for words in COMMANDS:
        first = memd(home, *words, *(("--profile", "work") if words[0] != "profile" else ()))
        second = memd(home, *words, *(("--profile", "work-2") if words[0] != "profile" else ()))
        # A memory without its model says in its status that it is degraded.
        assert first.returncode == second.returncode, (words, first.stderr, second.stderr)
        assert first.returncode == 0 or words[0] == "status", (words, first.stderr)
        assert OTHER not in first.stdout + first.stderr, words
        assert MARK not in second.stdout + second.stderr, words
        if MARK in first.stdout and OTHER in second.stdout:
            seen.add(words[0])
    assert {"export", "list", "search", "preference"} <= seen


def test_no_file_but_its_own_has_a_word_of_a_profile(drilled: Drilled) -> None:
    """Database, log of SQLite, keys, copies; and no log of either daemon has a word of any."""
    home, places, _ = drilled
    for name, mark in (("work", MARK), ("work-2", OTHER)):
        own = list(profile_files(places[name]))
        holding = [path for path, content in bytes_below(home) if mark.encode() in content]
        assert holding, name
        foreign = [path for path in holding if not any(map(path.is_relative_to, own))]
        assert foreign == []
    assert (home / "work.log").stat().st_size > 0
