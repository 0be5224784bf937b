"""Whatever else a settings file holds, memd goes in and out of it and every other byte stays."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.gate import drawn

from memd.assist.connect import edits, json_text, toml_text, yaml_text
from memd.assist.connect.clients import ASSISTANTS, Locations
from memd.assist.connect.entries import RequiredEntry, Target
from memd.assist.connect.text import UnreadableError

PLACE = Locations(
    Path("/nowhere/ada"), Path("/nowhere/memd"), "/opt/a b/memd", {"MEMD_HOME": "/m"}, {}
)

KEYS = st.sampled_from(["a", "mcpServers", "hooks", "statusLine2", "é", "mcp", "extensions", "x y"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 99)
    | st.text("ab \\\"'#{}[],:/é\U0001f9a6", max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", "", " ", "  ", "\n", "\n  ", "\n\t", "\n\n   ", " \n"])
COMMENTS = st.sampled_from(["", "", "", '// it\'s "so"\n', "/* { */", "/* a\n b */", " // x\n"])


def targets() -> list[Any]:
    return [
        pytest.param(target, id=f"{name}-{target.file.name}")
        for name, assistant in ASSISTANTS.items()
        for target in assistant.targets(PLACE)
        if target.format != "own" and any(hasattr(entry, "value") for entry in target.entries)
    ]


ALIKE = ("copilot-", "qwen-", "lmstudio-", "vscode-", "opencode-", "codex-hooks", "cursor-mcp")
"""JSON files in which nothing stands that is not in another's."""


def of(form: str) -> list[Any]:
    chosen = [each for each in targets() if each.values[0].format == form]
    return [each for each in chosen if not str(each.id).startswith(ALIKE)]


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """JSON as people leave it: comments, odd blanks, commas at the end, no last newline."""
    loose = draw(st.booleans())

    def gap() -> str:
        return draw(SPACES) + (draw(COMMENTS) if loose else "") + draw(SPACES)

    def listed(parts: list[str]) -> str:
        end = draw(st.sampled_from(["", ","])) if parts and loose else ""
        return gap() + ("," + gap()).join(parts) + gap() + end + (gap() if end else "")

    def written(value: Any) -> str:
        if isinstance(value, dict):
            members = [
                f"{json.dumps(key)}{gap()}:{gap()}{written(each)}" for key, each in value.items()
            ]
            return "{" + listed(members) + "}"
        if isinstance(value, list):
            return "[" + listed([written(each) for each in value]) + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    values = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    text = draw(st.sampled_from(["", "\ufeff"])) + gap() + written(values)
    text += draw(st.sampled_from(["", "\n", "\n\n", " \n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@pytest.mark.parametrize("target", of("json"))
@drawn(gate=10, long=100)  # 40 ms each
@given(text=json_texts())
@example(text="{}")
@example(text="")
@example(text="{\n}")
@example(text='{"mcpServers": {}}\n')
@example(text='{"a": 1 // one\n}')
def test_json_is_as_it_was(target: Target, text: str) -> None:
    goes_in_and_out(target, text, json_text.values)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    lines = ["# mine", "model = 'x'  # why", "a.b = [1, # one\n 2]", "", "   "]
    tables = ["[mcp_servers.other]", "  [t]", "[[many]]", "[mcp_servers]", '["x y"."z"]']
    chosen = draw(st.lists(st.sampled_from(lines), max_size=4, unique=True))
    inner = ["k = 1", "s = '''\n[no table]\n'''", "", "# about the next"]
    for table in draw(st.lists(st.sampled_from(tables), max_size=3, unique=True)):
        chosen += [table, *draw(st.lists(st.sampled_from(inner), max_size=3, unique=True))]
    text = "\n".join(chosen) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@pytest.mark.parametrize("target", of("toml")[:1])
@given(text=toml_texts())
@example(text="a = 1")
def test_toml_is_as_it_was(target: Target, text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    goes_in_and_out(target, text, toml_text.values)


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    blocks = [
        "# mine",
        "GOOSE_MODEL: 'x'   # why",
        "extensions:\n    developer: {type: builtin}  # it\n    # last",
        "extensions: {developer: {a: 1}}",
        "extensions: {}",
        "extensions:",
        "mcpServers:\n- name: other\n  command: x",
        "mcpServers:\n    - name: other\n      args: [a,  'b']\n",
        "mcpServers: [ ]",
        "mcpServers: [{name: x}, ]",
        "text: |\n  a\n  b\n",
        "name: Mine",
        "version: 2",
        "",
    ]
    chosen = draw(st.lists(st.sampled_from(blocks), max_size=5, unique=True))
    text = "\n".join(chosen) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@pytest.mark.parametrize("target", of("yaml"))
@drawn(gate=10, long=100)
@given(text=yaml_texts())
def test_yaml_is_as_it_was(target: Target, text: str) -> None:
    keys = [line.split(":")[0] for line in text.splitlines() if line[:1].isalpha()]
    assume(len(keys) == len(set(keys)))
    yaml.safe_load(text)
    goes_in_and_out(target, text, yaml_text.values)


def goes_in_and_out(target: Target, text: str, read: Any) -> None:
    try:
        connected = edits.add_entries(target, text)
    except UnreadableError:
        assume(False)
    else:
        assert edits.present(target, connected)
        assert edits.add_entries(target, connected) == connected
        assert edits.remove_entries(target, connected, text) == text
        # Somebody else wrote into it since: what is cut out is memd's, no more.
        assert edits.Edit(connected, target.format).values
        assert cut(target, connected, text) == text
        assert read(text) == read(cut(target, connected, text))


@pytest.mark.parametrize("target", of("json"))
@drawn(gate=10, long=100)
@given(text=json_texts(), value=VALUES)
def test_what_somebody_adds_meanwhile_stays(target: Target, text: str, value: Any) -> None:
    try:
        connected = edits.add_entries(target, text)
    except UnreadableError:
        assume(False)
    else:
        theirs = json_text.put(connected, ("theirs",), value)
        left = edits.remove_entries(target, theirs, text)
        assert left is not None
        assert json_text.values(left) == {**json_text.values(text), "theirs": value}


def cut(target: Target, text: str, before: str) -> str:
    """Return *text* without memd's, by cutting alone: the way when something else has changed."""
    edit = edits.Edit(text, target.format, before)
    for entry in reversed(target.entries):
        edits._remove(edit, entry)
    for entry in reversed(target.entries):
        if isinstance(entry, RequiredEntry) and edit.is_new(entry.path):
            edit.remove(entry.path)
    return before if not edit.values and not before.strip("\ufeff \r\n\t") else edit.text
