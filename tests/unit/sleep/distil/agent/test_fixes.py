"""What failed and passes now is told with its error, its cause and what was done."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.domain.enums import Origin
from memd.sleep.distil.agent.fixes import FIX_CHARS_MAX, fixes
from memd.sleep.distil.exchanges import AgentText, Exchange, NapKind, ToolRun

ERROR = "Exit code 1\nconnecting\nError: connect ECONNREFUSED 127.0.0.1:5433"
WHY = "The tests expect Postgres on port `5433`, and `compose.yml` only maps `5432`."


def _bash(place: int, line: str, result: str = "ok") -> ToolRun:
    return ToolRun(place, "", "Bash", {"command": line}, result)


def _edit(place: int, path: str) -> ToolRun:
    return ToolRun(place, "", "Edit", {"file_path": path, "new_string": "x"}, "done")


def _exchange(
    answers: Sequence[tuple[int, str]], *runs: ToolRun, user: str = "run the tests"
) -> Exchange:
    return Exchange(0, user, (), [AgentText(*each) for each in answers], list(runs), 9)


def _texts(*exchanges: Exchange) -> list[str]:
    return [each.memory.text for each in fixes(exchanges)]


def test_a_fix_names_command_error_cause_and_file() -> None:
    exchange = _exchange(
        [(3, WHY)],
        _bash(1, "cd /srv/shop && npm test 2>&1 | tail -20", ERROR),
        _edit(4, "/srv/shop/compose.yml"),
        _bash(5, "cd /srv/shop && npm test", "12 passing"),
    )
    (fix,) = fixes([exchange])
    assert fix.memory.text == (
        "npm test failed: Error: connect ECONNREFUSED 127.0.0.1:5433."
        " The tests expect Postgres on port 5433, and compose.yml only maps 5432."
        " Changed compose.yml. It passes now."
    )
    assert fix.memory.kind is NapKind.FIX
    assert fix.memory.places == (1, 5)
    assert fix.memory.origin is Origin.TOOL


def test_what_a_command_line_lacked_needs_no_other_cause() -> None:
    exchange = _exchange(
        [],
        _bash(1, "make release", "Exit code 2\nerror: API_KEY is not set"),
        _bash(3, "API_KEY=test make release", "released"),
    )
    assert _texts(exchange) == [
        "make release failed: error: API_KEY is not set. Passes now: API_KEY=test make release"
    ]


def test_what_was_installed_or_started_between_cures_too() -> None:
    error = "Exit code: 101\nerror: linker `cc` not found"
    runs = (
        _bash(1, "cargo build", error),
        _bash(2, "git add ."),
        _bash(3, "sudo apt-get install -y gcc"),
        _bash(4, "cargo build"),
    )
    assert _texts(_exchange([], *runs)) == [
        "cargo build failed: error: linker `cc` not found."
        " Ran sudo apt-get install -y gcc. It passes now."
    ]


def test_a_command_that_ends_in_a_folder_gets_no_second_period() -> None:
    error = "Exit code 2\nkettle: error: unrecognized arguments: --dry-run"
    line = "python -m kettle --dry-run"
    (text,) = _texts(
        _exchange([], _bash(1, line, error), _bash(2, "pip install -e ."), _bash(3, line))
    )
    assert text.endswith("Ran pip install -e . It passes now.")


def test_a_fix_may_lie_in_what_the_user_did_between() -> None:
    missing = _exchange([(2, WHY)], _bash(1, "npm test", ERROR))
    done = _exchange([], _bash(7, "npm test", "12 passing"), user="I started it")
    assert len(_texts(missing, done)) == 1


@pytest.mark.parametrize(
    "why",
    [
        "It is flaky because the token of the user expires after five minutes.",
        "It failed because the cookie is set by a second request that sometimes came later.",
        "Es schlug fehl, weil der Klick manchmal vor dem Formular kam.",
    ],
)
@pytest.mark.parametrize("at", [2, 4])
def test_a_cause_in_plain_words_is_one_where_something_was_mended(why: str, at: int) -> None:
    """Nothing in it is named, as nothing in "why was the login flaky?" is."""
    runs = (_bash(1, "npm test", ERROR), _edit(3, "a.ts"), _bash(3, "npm test", "12 passing"))
    (text,) = _texts(_exchange([(at, f"Done. {why} Anything else?")], *runs))
    assert f" {why} Changed a.ts. It passes now." in text
    assert _texts(_exchange([(at, why)], *runs[:2])) == []
    doubted = why.replace("because", "probably because").replace("weil", "weil maybe")
    assert _texts(_exchange([(at, doubted)], *runs)) == []


REDIS = "Exit code 1\nredis.exceptions.ConnectionError: Error 111 connecting to localhost:6379"
OTHER_CAUSE = "All pass. The cause was the inclusive comparison in `overlaps()`, now strict."
SET = "REDIS_URL=redis://localhost:6390 pytest -q"


@pytest.mark.parametrize(
    ("cures", "line"),
    [
        ((), SET),
        ((_bash(4, "docker compose up -d redis"),), "pytest -q"),
        ((_edit(4, "/s/conftest.py"),), "pytest -q"),
    ],
)
@pytest.mark.parametrize("other", [OTHER_CAUSE, "Es schlug fehl, weil das Komma als Punkt galt."])
def test_the_cause_of_what_the_user_reported_is_none_of_another_failure(
    cures: Sequence[ToolRun], line: str, other: str
) -> None:
    """The agent mends `slots.py`, the tests fail without Redis, and then it tells of `slots.py`."""
    mended, failed = _edit(1, "/s/slots.py"), _bash(2, "pytest -q", REDIS)
    passed = _bash(5, line, "13 passed")
    one = _exchange([(7, other)], mended, failed, *cures, passed)
    before = _exchange([(3, "Is Redis on 6379?")], mended, failed)
    after = _exchange([(7, other)], *cures, passed, user="No, it is on 6390.")
    for exchanges in ([one], [before, after]):
        assert not [text for text in _texts(*exchanges) if other[-20:] in text]
    tied = "The cause was the port: Redis does not listen on 6379."
    after = _exchange([(7, f"{OTHER_CAUSE} {tied}")], *cures, passed, user="No, it is on 6390.")
    (text,) = _texts(before, after)
    assert tied in text


def test_a_cause_told_after_another_failure_is_that_of_the_other() -> None:
    runs = (
        _bash(1, "npm test", ERROR),
        _bash(2, "npm run build", "Exit code 1\nError: Cannot resolve 'webpack'"),
        _edit(4, "/s/package.json"),
        _bash(5, "npm run build"),
        _bash(6, "docker compose up -d db"),
        _bash(7, "npm test"),
    )
    built, tested = _texts(_exchange([(3, "`webpack` is missing in package.json.")], *runs))
    assert "webpack is missing" in built
    assert "webpack is missing" not in tested


def test_a_command_that_passes_after_another_on_one_line_is_cured() -> None:
    error = "Exit code 1\nnpm ERR! engine Unsupported: required node >=22, current v18.19.1"
    create = "npm create astro@latest ."
    failed = _exchange([(2, "Shall I install Node 22 with nvm?")], _bash(1, create, error))
    line = f"mise use node@22 && {create}"
    why = "It works: the failure was Node 18, and mise use node@22 fixed it."
    passed = _exchange([(8, why)], _bash(7, line, "created"), user="I use mise.")
    (text,) = _texts(failed, passed)
    assert text == (
        "npm create astro@latest . failed: npm ERR! engine Unsupported: required node >=22,"
        f" current v18.19.1. {why} Passes now: {line}"
    )
    for other in (f"{line} || true", f"git commit -m '&& {create}'"):
        assert _texts(failed, _exchange([(8, why)], _bash(7, other), user="I use mise.")) == []


def test_a_failure_that_nobody_explains_or_cures_is_no_fix() -> None:
    edited = (_bash(1, "npm test", ERROR), _edit(2, "a.ts"), _bash(3, "npm test"))
    assert _texts(_exchange([(2, "Let me fix it.")], *edited)) == []
    assert _texts(_exchange([(2, WHY)], _bash(1, "npm test", ERROR))) == []
    assert _texts(_exchange([(2, WHY)], _bash(1, "npm test", ERROR), _bash(3, "npm run x"))) == []


def test_looking_around_checks_compiling_and_tests_broken_on_purpose_are_no_fixes() -> None:
    for line, error in (
        ("ls /srv/x", "ls: /srv/x: No such file or directory"),
        ("ruff check .", "Exit code 1\na.py:1: E501 error: line too long"),
        ("go build ./...", "Exit code 1\n./a.go:3: undefined: Port"),
    ):
        runs = (_bash(1, line, error), _edit(2, "a.go"), _bash(3, line))
        assert _texts(_exchange([(2, WHY)], *runs)) == []
    inverted = (_bash(1, "npm test", ERROR), _edit(2, "a.ts"), _bash(3, "npm test"))
    answers = [(1, "I invert the assertion."), (2, WHY)]
    assert _texts(_exchange(answers, *inverted)) == []


@pytest.mark.parametrize(
    "accepting", ["cargo insta review --accept && make test", "make test --snapshot-update"]
)
def test_what_was_accepted_as_it_is_was_not_cured(accepting: str) -> None:
    failed = _bash(1, "make test", "Exit code 1\nError: snapshot assertion failed in line 44")
    passed = _bash(3, accepting, "40 passed")
    assert (
        _texts(_exchange([(2, "The error is a changed snapshot."), (4, "Done.")], failed, passed))
        == []
    )


def test_the_same_failure_has_the_same_slot_wherever_it_stands() -> None:
    runs = (_bash(1, "npm test", ERROR), _edit(2, "a.ts"), _bash(3, "npm test"))
    later = [each._replace(place=each.place + 40) for each in runs]
    (one,) = fixes([_exchange([(2, WHY)], *runs)])
    (other,) = fixes([_exchange([(42, WHY)], *later)])
    assert one.memory.slot == other.memory.slot


def _slot(line: str, *between: ToolRun, where: str = "/run/a.sock") -> str:
    error = f"Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5433 by {where}"
    runs = (_bash(1, "npm test", error), *between, _bash(9, line))
    (fix,) = fixes([_exchange([(2, WHY)], *runs)])
    return fix.memory.slot


def test_what_a_command_or_a_setting_cured_is_the_same_wherever_it_was() -> None:
    up, other = _bash(5, "docker compose up -d redis"), _bash(5, "brew services start redis")
    assert _slot("npm test", up) == _slot("npm test", up, where="/var/b.sock")
    assert _slot("npm test", up) != _slot("npm test", other)
    setting = _slot("R=1 npm test")
    assert setting == _slot("R=1 npm test", where="/var/b.sock")
    assert setting != _slot("R=2 npm test")
    edits = {_slot("npm test", _edit(5, "a.ts"), where=where) for where in ("/a.sock", "/b.sock")}
    assert len(edits) == 2, "a changed file says only where something was done"


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=300)), max_size=5))
def test_no_run_is_an_error_and_no_fix_is_too_long(runs: list[tuple[str, str]]) -> None:
    called = [_bash(2 * at, line, result) for at, (line, result) in enumerate(runs)]
    passing = [_bash(20 + at, f"X=1 {run.arguments['command']}") for at, run in enumerate(called)]  # type: ignore[index]
    answers = [(2 * at, WHY) for at in range(12)]
    for text in _texts(_exchange(answers, *called, *passing)):
        assert len(text) <= FIX_CHARS_MAX
