"""``memd org as-of`` and ``memd org timeline`` against a real daemon."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.daemon import environment, spawned

from memd.client import Client

SAID = "The team used Flask until March 2026, then switched to Litestar"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with spawned(home) as daemon:
        params = {"name": "sam", "agent_id": "sam", "seniority": "senior"}
        with daemon.client() as owner:
            key = Path(owner.call("client.add", params)["key_file"])
        with Client(socket=daemon.paths.socket, key=key) as sam:
            sam.call("org.write", {"content": SAID, "category": "convention"})
        yield home


def memd(home: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "memd", "org", *words],
        env=environment(home, {"COLUMNS": "140"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_what_held_in_a_month_is_printed(home: Path) -> None:
    code, out, _ = memd(home, "as-of", "--valid", "2026-02")
    assert code == 0
    assert "the team uses Flask" in out
    assert "Litestar" not in out
    code, out, _ = memd(home, "as-of", "--about", "litestar", "--json")
    (item,) = json.loads(out)["items"]
    assert {one["object"] for one in item["statements"]} == {"Litestar", "Flask"}


def test_a_life_is_printed_as_bars_with_who_and_when(home: Path) -> None:
    code, out, _ = memd(home, "timeline", "the team")
    assert code == 0
    flask, litestar = (line for line in out.splitlines() if "uses" in line)
    assert "... to 2026-03-01: sam (senior)" in flask
    assert "2026-03-01 to ...: sam (senior)" in litestar


def test_a_life_is_drawn_into_a_file(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "flask.svg"
    code, out, err = memd(home, "timeline", "Flask", "--svg", str(target))
    assert (code, out) == (0, "")
    assert "written to" in err
    text = target.read_text("utf-8")
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  # what memd itself has just written
    assert "the team uses Flask" in text


@pytest.mark.parametrize(
    "words",
    [
        ("as-of", "--valid", "2026-02-01T12:00:00"),
        ("as-of", "--known", "soon"),
        ("as-of", "--about", "Nobody"),
        ("timeline", "Nobody"),
        ("timeline", "Flask", "--svg", "/nowhere/at/all.svg"),
    ],
)
def test_a_wrong_question_is_said_to_be_one(home: Path, words: tuple[str, ...]) -> None:
    code, out, err = memd(home, *words)
    assert code != 0
    assert out == ""
    assert err.startswith("memd: ")
