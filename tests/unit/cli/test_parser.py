from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn

from memd.cli import options, parser, typer_app
from memd.cli.cli import COMMANDS, GROUPS, Entry, load
from memd.cli.options import Argument, Option, option

SAFE = st.text(alphabet="abz09äé_.:/ ", min_size=1, max_size=8).filter(lambda word: word.strip())


def command(
    text: Annotated[str, Argument(help="")],
    rest: Annotated[list[Path] | None, Argument(help="")] = None,
    top: Annotated[int | None, option("--top", "-n", help="")] = None,
    tag: options.Tags = None,
    sandbox: Annotated[bool | None, option("--sandbox/--no-sandbox", help="")] = None,
    json: options.Json = False,
) -> None:
    """A command with one parameter of each form."""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["x"], {"text": "x"}),
        (["x", "-n", "3", "--json"], {"text": "x", "top": 3, "json": True}),
        (["--top=3", "x", "a", "b"], {"text": "x", "top": 3, "rest": [Path("a"), Path("b")]}),
        (["-t", "a", "x", "--tag", "b"], {"text": "x", "tag": ["a", "b"]}),
        (["x", "--no-sandbox"], {"text": "x", "sandbox": False}),
        (["--", "-n"], {"text": "-n"}),
        (["-"], {"text": "-"}),
    ],
)
def test_what_is_typed_as_it_should_be_is_read(line: list[str], expected: dict[str, Any]) -> None:
    nothing = {"rest": None, "top": None, "tag": None, "sandbox": None, "json": False}
    assert parser.parse(command, line) == {**nothing, **expected}


@pytest.mark.parametrize(
    "line",
    [[], ["x", "--help"], ["x", "-n"], ["x", "-n", "three"], ["x", "--nope"], ["x", "-n3"],
     ["x", "-n", "-3"], ["x", "--json=1"], [""], ["x", "--top="]],
)  # fmt: skip
def test_what_is_not_is_left_to_typer(line: list[str]) -> None:
    assert parser.parse(command, line) is None


def every_command() -> Iterator[Entry]:
    yield from COMMANDS
    for _, entries in GROUPS.values():
        yield from entries


@pytest.mark.parametrize("entry", list(every_command()), ids=lambda entry: entry.function)
@drawn(gate=5, long=30)
@given(data=st.data())
def test_both_readers_of_the_command_line_read_the_same(entry: Entry, data: st.DataObject) -> None:
    original = load(entry)
    line = data.draw(a_line(original))
    quick = parser.parse(original, line)
    assert quick is not None, line
    assert quick == by_typer(original, line)


@st.composite
def a_line(draw: st.DrawFn, command: Callable[..., None]) -> list[str]:
    """Draw a correct command line for *command*, options and words in any order."""
    pieces: list[list[str]] = []
    for parameter in parser.parameters(command):
        value = st.integers(0, 99).map(str) if parameter.kind is int else SAFE
        if isinstance(parameter.declaration, Option):
            for _ in range(draw(st.integers(0, 2))):
                name = draw(st.sampled_from(spellings(parameter.declaration)))
                pieces.append([name] if parameter.kind is bool else [name, draw(value)])
        else:
            least = 1 if parameter.required else 0
            count = draw(st.integers(least, 3 if parameter.many else 1))
            pieces.extend([draw(value)] for _ in range(count))
    return [word for piece in draw(st.permutations(pieces)) for word in piece]


def spellings(how: Option) -> list[str]:
    return [name for names in how.names for name in names.split("/")]


def by_typer(command: Callable[..., None], line: list[str]) -> dict[str, Any]:
    built, seen = recording(command)
    seen.clear()
    with pytest.raises(SystemExit) as left:
        built(["it", *line], prog_name="it")
    assert left.value.code == 0, line
    return {name: None if value in ([], ()) else value for name, value in seen.items()}


@cache
def recording(command: Callable[..., None]) -> tuple[Callable[..., None], dict[str, Any]]:
    """Return typer's reader of *command*, and where it notes what it read; made once: 15 ms."""
    seen: dict[str, Any] = {}

    def record(**params: Any) -> None:
        seen.update(params)

    stand_in = typer_app.translate(command)
    recorder: Any = record
    recorder.__signature__ = stand_in.__signature__  # type: ignore[attr-defined]
    recorder.__annotations__ = stand_in.__annotations__
    app = typer_app.new_application("")
    app.command("it")(recorder)
    return typer.main.get_command(app), seen
