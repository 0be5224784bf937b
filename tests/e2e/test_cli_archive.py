"""``memd archive``: what was put away, found, looked at and brought back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, spawned

from memd.client import Client

pytestmark = pytest.mark.model

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with spawned(home, {"MEMD_MODEL_DIR": str(model_dir)}):
        yield home


@pytest.fixture
def memd(home: Path) -> Typed:
    def typed(*words: str) -> tuple[int, str, str]:
        done = forked.run(words, env=environment(home, {}))
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return typed


def move_to_archive(home: Path) -> str:
    """Tell something unimportant twice; the second memory lands in the archive."""
    with Client(home / "run" / "memd.sock") as client:
        client.ingest("We went home", session_id="one", origin="assistant")
        (item,) = client.ingest("We went home", session_id="two", origin="assistant")["turned_away"]
    return str(item["id"])


def told(answer: tuple[int, str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer[1])
    assert found.pop("v") == 1
    return found


def test_what_was_put_away_is_found_shown_and_brought_back(home: Path, memd: Typed) -> None:
    memory_id = move_to_archive(home)

    assert memd("archive", "count") == (0, "1\n", "")
    assert told(memd("archive", "count", "--json")) == {"count": 1}
    (found,) = told(memd("archive", "search", "went home", "--json"))["items"]
    assert found["entry"]["id"] == memory_id
    assert found["reason"] == "low_importance"
    line = memd("archive", "search")[1].rstrip("\n").split("\t")
    assert (line[0], line[2], line[3]) == (memory_id, "low_importance", "We went home")

    code, out, err = memd("archive", "restore", "--show", found["archival_id"])
    assert (code, out) == (0, "We went home\n")
    assert found["archival_id"] in err
    assert memd("archive", "count")[1] == "1\n"

    assert memd("archive", "restore", memory_id) == (0, f"{memory_id}\n", "")
    assert memd("archive", "count")[1] == "0\n"
    assert memd("get", memory_id)[0] == 0
    assert memd("archive", "search", "home") == (0, "", "no archived memory matches\n")


def test_an_unknown_or_foreign_id_is_named_and_the_exit_code_says_so(memd: Typed) -> None:
    for words in (("archive", "restore", "x"), ("archive", "restore", "--show", "x")):
        code, out, err = memd(*words)
        assert (code, out) == (1, "")
        assert "not in the archive: x" in err
    code, out, _ = memd("archive", "restore", "x", "--agent", "somebody", "--json")
    assert code == 1
    assert told((code, out, "")) == {"restored": [], "missing": ["x"]}
