"""Help is clear: every command under a heading, whole sentences, and examples."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from memd.cli.cli import run
from memd.cli.commands import COMMANDS, GROUPS, SECTIONS, find
from memd.cli.help import first_sentence
from memd.cli.options import parse

TYPED = [[name] for name in COMMANDS]
TYPED += [[name, entry.name] for name, group in GROUPS.items() for entry in group.entries]


def test_no_name_stands_under_two_headings() -> None:
    names = [item.name for items in SECTIONS.values() for item in items]
    assert sorted(names) == sorted({*COMMANDS, *GROUPS})


def test_the_help_lists_every_command_and_cuts_nothing_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown
    for name in SECTIONS:
        assert f"\n{name}:\n" in shown
    for name, entry in COMMANDS.items():
        summary = first_sentence(entry.load().__doc__ or "")
        assert f" {name} {summary} " in f" {' '.join(shown.split())} "
    for name, group in GROUPS.items():
        assert f" {name} {group.summary} " in f" {' '.join(shown.split())} "


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)], ids=" ".join)
def test_a_command_has_one_line_in_a_list(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    wrapped = re.findall(r"^ {5,}.*", capsys.readouterr().out, re.MULTILINE)
    assert wrapped == []


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_a_group_shows_its_commands_and_an_example_of_each(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([group, "--help"]) == 0
    commands, _, examples = capsys.readouterr().out.partition("Examples:")
    for entry in GROUPS[group].entries:
        assert f"\n  {entry.name} " in commands
        assert f"memd {group} {entry.name}" in examples


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_a_command_shows_how_it_is_typed_and_examples(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    usage = shown.partition("\n\n")[0]
    assert usage.startswith(f"Usage: memd {' '.join(words)} [OPTIONS]")
    assert not {"{", "}", "<"} & set(usage), "types and braces tell a person nothing"
    assert "[[" not in usage
    assert "Examples:\n" in shown


def test_what_is_said_of_a_command_in_a_list_is_its_first_sentence() -> None:
    assert first_sentence("Print one\nmemory. By its id.") == "Print one memory."
    assert first_sentence("List it, 0.5 first\n\nMore.") == "List it, 0.5 first"


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_example_is_a_command_that_can_be_typed(words: list[str]) -> None:
    place = find(words)
    assert place is not None
    for line in getattr(place[0].load(), "examples", ()):
        typed_there = list(commands_of(line))
        assert typed_there or "memd" in line, line
        for argv in typed_there:
            named = find(argv)
            assert named is not None, line
            assert parse(named[0].load(), named[1]) is not None, line


def commands_of(line: str) -> Iterator[list[str]]:
    """Yield the words behind each ``memd`` of a line that a shell would run."""
    for part in re.split(r"\s(?:\||&&|>)\s", line.partition("   #")[0]):
        if part.startswith("memd "):
            yield shlex.split(part)[1:]


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_a_command_that_is_shown_with_an_id_says_which_part_of_it_is_enough(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    above, _, examples = capsys.readouterr().out.partition("Examples:")
    if re.search(r"\s[0-9a-f]{8}\s", examples):
        assert "last six or more characters" in " ".join(above.split())
