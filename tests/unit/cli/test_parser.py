from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn

from memd.base.errors import InvalidError
from memd.cli import options
from memd.cli.commands import COMMANDS, GROUPS, Entry
from memd.cli.options import Option, Parameter, parameters, parse, text_or_stdin

TEXTS = st.text(alphabet="abz09äé_.:/ -", max_size=8)


def command(
    text: Annotated[str, "TEXT", ""],
    rest: Annotated[list[Path] | None, "REST", ""] = None,
    top: Annotated[int | None, "--top, -n", ""] = None,
    tag: options.Tags = None,
    sandbox: Annotated[bool | None, "--sandbox, --no-sandbox", ""] = None,
    force: Annotated[bool, "--force, -f", ""] = False,
) -> None:
    """A command with one parameter of each form."""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["x"], {"text": "x"}),
        ([""], {"text": ""}),
        (["x", "-n", "3", "--force"], {"text": "x", "top": 3, "force": True}),
        (["x", "-n3"], {"text": "x", "top": 3}),
        (["x", "-fn3"], {"text": "x", "top": 3, "force": True}),
        (["x", "-n", "-3"], {"text": "x", "top": -3}),
        (["x", "-t", "--force"], {"text": "x", "tag": ["--force"]}),
        (["--top=3", "x", "a", "b"], {"text": "x", "top": 3, "rest": [Path("a"), Path("b")]}),
        (["-t", "a", "x", "--tag", "b"], {"text": "x", "tag": ["a", "b"]}),
        (["x", "--no-sandbox"], {"text": "x", "sandbox": False}),
        (["x", "a", "--force", "b"], {"text": "x", "rest": [Path("a"), Path("b")], "force": True}),
        (["--", "-n"], {"text": "-n"}),
        (["-"], {"text": "-"}),
    ],
)
def test_options_and_arguments_are_parsed_in_any_order(
    line: list[str], expected: dict[str, Any]
) -> None:
    nothing = dict.fromkeys(("rest", "top", "tag", "sandbox", "profile"))
    assert parse(command, line) == {**nothing, "force": False, **expected}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "TEXT is missing"),
        (["x", "-n"], "-n needs a value"),
        (["x", "-n", "three"], "-n must be a whole number, not three"),
        (["x", "--top="], "--top must be a whole number, not "),
        (["x", "--sandbx"], "unknown option --sandbx (similar: --sandbox, --no-sandbox)"),
        (["x", "--to", "3"], "unknown option --to (similar: --top, -t, --tag)"),
        (["x", "--nothing-like-it"], "unknown option --nothing-like-it"),
        (["-5 degrees"], "unknown option -5; a text that begins with - goes after --"),
        (
            ["--hello there"],
            "unknown option --hello there; a text that begins with - goes after --",
        ),
        (["x", "--force=1"], "--force takes no value"),
    ],
)
def test_a_mistake_is_named(line: list[str], message: str) -> None:
    with pytest.raises(InvalidError) as refused:
        parse(command, line)
    assert refused.value.message == message


def test_more_arguments_than_a_command_takes_are_refused() -> None:
    with pytest.raises(InvalidError, match="unexpected argument b"):
        parse(COMMANDS["completion"].load(), ["bash", "b"])


@pytest.mark.parametrize("name", ["brief", "inject", "recall", "synthesize"])
def test_a_budget_that_holds_nothing_is_a_mistake(name: str) -> None:
    """Over the socket it gives an empty prompt (decision 0054)."""
    for word in ("0", "-1"):
        with pytest.raises(InvalidError, match=f"--budget must be at least 1, not {word}"):
            parse(COMMANDS[name].load(), ["x", f"--budget={word}"])


@pytest.mark.parametrize("line", [["-h"], ["x", "--help"], ["--nope", "-h"][::-1]])
def test_a_request_for_help_is_no_mistake(line: list[str]) -> None:
    assert parse(command, line) is None


def test_a_command_line_is_parsed_to_what_it_was_made_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMD_PROFILE", "work")
    arguments: dict[str, Any] = {
        "text": "-a b", "rest": [Path("c")], "top": 3, "tag": ["last week", "-x"],
        "sandbox": False, "force": True,
    }  # fmt: skip
    line = options.command_line("command", command, **arguments)
    assert line == (
        "memd command --top 3 --tag 'last week' --tag -x --no-sandbox --force --profile work "
        "-- '-a b' c"
    )
    _, _, *words = shlex.split(line)
    assert parse(command, words) == {**arguments, "profile": "work"}


def every_command() -> Iterator[Entry]:
    yield from COMMANDS.values()
    for group in GROUPS.values():
        yield from group.entries


@pytest.mark.parametrize("entry", list(every_command()), ids=lambda entry: entry.name)
@drawn(gate=5, long=30)
@given(data=st.data())
def test_every_command_gets_the_values_that_are_typed(entry: Entry, data: st.DataObject) -> None:
    original = entry.load()
    words, values = data.draw(arguments_of(original))
    pieces = [[word] for word in words]
    for parameter in parameters(original):
        if isinstance(parameter.declaration, Option):
            for _ in range(data.draw(st.integers(0, 2))):
                piece, value = data.draw(an_option(parameter, parameter.declaration))
                pieces.append(piece)
                before = values.get(parameter.name, []) if parameter.many else None
                values[parameter.name] = value if before is None else [*before, value]
    # A sample of places that keeps the order of both: options stand also between the words.
    is_word = data.draw(st.permutations([True] * len(words) + [False] * (len(pieces) - len(words))))
    plain, named = iter(pieces[: len(words)]), iter(pieces[len(words) :])
    line = [part for at in is_word for part in next(plain if at else named)]
    defaults = {parameter.name: parameter.default for parameter in parameters(original)}
    assert parse(original, line) == {**defaults, **values}


@st.composite
def arguments_of(draw: st.DrawFn, command: Callable[..., None]) -> tuple[list[str], dict[str, Any]]:
    """Draw words for the arguments of *command*, and the values that they have."""
    words: list[str] = []
    values: dict[str, Any] = {}
    plain = TEXTS.filter(lambda word: not word.startswith("-"))
    for parameter in parameters(command):
        if isinstance(parameter.declaration, Option):
            continue
        count = draw(st.integers(1 if parameter.required else 0, 3 if parameter.many else 1))
        chosen = [draw(plain) for _ in range(count)]
        words += chosen
        if chosen:
            parsed = [parameter.kind(word) for word in chosen]
            values[parameter.name] = parsed if parameter.many else parsed[0]
        else:
            break
    return words, values


@st.composite
def an_option(draw: st.DrawFn, parameter: Parameter, how: Option) -> tuple[list[str], Any]:
    """Draw an option as it may be typed, and the value that it has."""
    name = draw(st.sampled_from(how.names))
    if parameter.kind is bool:
        return [name], not name.startswith("--no-")
    least = -9 if how.least is None else how.least
    value = draw(st.integers(least, 99) if parameter.kind is int else TEXTS.map(parameter.kind))
    spellings = [[name, str(value)]]
    if name.startswith("--"):
        spellings.append([f"{name}={value}"])
    return draw(st.sampled_from(spellings)), value


def test_a_text_from_stdin_has_to_be_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    def stdin(raw: bytes) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(raw))

    monkeypatch.setattr("sys.stdin", stdin("Grüße\r\nan Ada\n".encode()))
    assert text_or_stdin("-") == "Grüße\nan Ada"
    monkeypatch.setattr("sys.stdin", stdin(b"\xff\xfe"))
    with pytest.raises(InvalidError, match="stdin is not UTF-8 text"):
        text_or_stdin("-")
    assert text_or_stdin("so") == "so"
