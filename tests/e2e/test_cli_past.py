"""``memd org as-of`` and ``memd org timeline`` against a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support import commands
from support.commands import Memd
from support.daemon import Spawned, spawned

from memd.client import Client

SAID = "The team used Flask until March 2026, then switched to Litestar"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        params = {"name": "sam", "agent_id": "sam", "seniority": "senior"}
        with daemon.client() as owner:
            key = Path(owner.call("client.add", params)["key_file"])
        with Client(socket=daemon.paths.socket, key=key) as sam:
            sam.call("org.write", {"content": SAID, "category": "convention"})
        yield daemon


@pytest.fixture
def memd(daemon: Spawned) -> Memd:
    return partial(commands.memd, daemon.home, COLUMNS="140")


def test_what_held_in_a_month_is_printed(memd: Memd) -> None:
    code, out, _ = memd("org", "as-of", "--valid", "2026-02")
    assert code == 0
    assert "the team uses Flask" in out
    assert "Litestar" not in out
    (item,) = memd("org", "as-of", "--about", "litestar", "--json").json["items"]
    assert {statement["object"] for statement in item["statements"]} == {"Litestar", "Flask"}


def test_a_fact_that_names_no_time_is_printed_as_it_was_written(
    memd: Memd, daemon: Spawned
) -> None:
    text = "Our structural engineer is Ing. Valsecchi. Ask her before a wall comes down."
    memd("org", "write", text, MEMD_CLIENT_KEY_FILE=str(daemon.paths.keys_dir / "sam.key"))
    for words in (["wall"], ["--about", "Ing. Valsecchi"]):
        assert text in memd("org", "as-of", *words).out


def test_a_life_is_printed_as_bars_with_who_and_when(memd: Memd) -> None:
    code, out, _ = memd("org", "timeline", "the team")
    assert code == 0
    flask, litestar = (line for line in out.splitlines() if "uses" in line)
    assert "... to 2026-03-01: sam (senior)" in flask
    assert "2026-03-01 to ...: sam (senior)" in litestar


def test_the_life_of_a_fact_without_statements_has_its_versions(
    memd: Memd, daemon: Spawned
) -> None:
    sam = partial(memd, MEMD_CLIENT_KEY_FILE=str(daemon.paths.keys_dir / "sam.key"))
    fact_id = sam("org", "write", "Ask Zoe before a release.").out.strip()
    sam("org", "write", "Ask Yan.", "--fact", fact_id, "--from", "2099-11-23")
    for name in (fact_id, fact_id[-8:]):
        code, out, _ = memd("org", "timeline", name)
        assert code == 0
        zoe, yan = (line for line in out.splitlines() if "Ask " in line)
        assert "... to 2099-11-23: sam (senior)" in zoe
        assert "2099-11-23 to ...: sam (senior)" in yan


def test_what_holds_now_comes_before_what_begins_later(memd: Memd, daemon: Spawned) -> None:
    sam = partial(memd, MEMD_CLIENT_KEY_FILE=str(daemon.paths.keys_dir / "sam.key"))
    fact_id = sam("org", "write", "The rent is 900 euro.").out.strip()
    sam("org", "write", "The rent is 1,000 euro.", "--fact", fact_id, "--from", "2099-11-23")
    _, out, _ = memd("org", "query", "rent")
    assert out.splitlines() == [
        f"{fact_id}\tconvention\tThe rent is 900 euro.\tuntil 2099-11-23",
        f"{fact_id}\tconvention\tThe rent is 1,000 euro.\tfrom 2099-11-23",
    ]
    _, out, err = memd("org", "show", fact_id)
    assert out.index("900 euro") < out.index("1,000 euro")
    assert err.index("until 2099-11-23") < err.index("from 2099-11-23")
    assert err.count("written_at:") == 2
    _, out, _ = memd("org", "history", fact_id)
    ends = [line.rsplit("\t", 1)[1] for line in out.splitlines()]
    assert ends == ["until 2099-11-23", "from 2099-11-23"]


def test_a_thing_is_found_without_the_word_for_its_kind(memd: Memd, daemon: Spawned) -> None:
    text = "The project Asilo Seriate depends on Stahlbau Kurz."
    memd("org", "write", text, MEMD_CLIENT_KEY_FILE=str(daemon.paths.keys_dir / "sam.key"))
    for name in ("Asilo Seriate", "asilo seriate", "the project Asilo Seriate"):
        assert text in memd("org", "as-of", "--about", name).out
        assert "Stahlbau Kurz" in memd("org", "timeline", name).out
        assert "Stahlbau Kurz" in memd("graph", "neighbours", name).out
        assert "Stahlbau Kurz" in memd("graph", "query", f"what does {name} depend on?").out
    for name in ("Stahlbau Kurz", "the company Stahlbau Kurz"):
        assert "Asilo Seriate" in memd("graph", "neighbours", name).out


def test_a_life_is_drawn_into_a_file(memd: Memd, tmp_path: Path) -> None:
    target = tmp_path / "flask.svg"
    code, out, err = memd("org", "timeline", "Flask", "--svg", str(target))
    assert (code, out) == (0, "")
    assert "wrote " in err
    text = target.read_text("utf-8")
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  # what memd itself has just written
    assert "the team uses Flask" in text


@pytest.mark.parametrize(
    "words",
    [
        ("as-of", "--valid", "2026-02-01T12:00:00"),
        ("as-of", "--known", "soon"),
        ("as-of", "2026-02"),
        ("as-of", "--about", "Nobody"),
        ("timeline", "Nobody"),
        ("timeline", "Flask", "--svg", "/nowhere/at/all.svg"),
    ],
)
def test_a_wrong_question_is_said_to_be_one(memd: Memd, words: tuple[str, ...]) -> None:
    code, out, err = memd("org", *words)
    assert code != 0
    assert out == ""
    assert err.startswith("memd: ")


def test_a_time_in_the_wrong_place_is_told_the_right_command(memd: Memd) -> None:
    _, _, err = memd("org", "as-of", "2026-02")
    assert "memd org as-of --valid 2026-02" in err
    _, _, err = memd("org", "as-of", "Nobody")
    assert "'Nobody'" in err
    assert "--about" in err
    _, _, err = memd("org", "as-of", "--about", "Nobody")
    assert "memd org as-of prints all that holds" in err


def test_a_day_is_a_time_wherever_one_is_typed(memd: Memd) -> None:
    """A day is its beginning, in UTC, so what holds until then is over on that day (D13)."""
    words = ("propose", "--from", "2025-01", "--until", "2027-01-01", "The team ships on Fridays.")
    code, _, err = memd("org", *words)
    assert code == 0, err
    (proposal,) = memd("org", "review", "--json").json["items"]
    assert proposal["valid_from"].startswith("2025-01-01T00:00:00")
    assert proposal["valid_to"].startswith("2027-01-01T00:00:00")
    code, out, err = memd("graph", "neighbours", "Flask", "--as-of", "2026-02-01")
    assert code == 0, err
    assert "Flask" in out
