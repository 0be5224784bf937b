"""``memd config``: show the effective settings with their origins, and change one.

A change keeps comments and formatting. It is refused with the error that the daemon would report at
its start. A running daemon then reloads the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError, MemdError, MemoryConfigError, NotRunningError
from memd.base.paths import Paths, expand_folder
from memd.cli import console, options

if TYPE_CHECKING:
    from memd.domain.settings.settings import Settings


@options.examples("memd config show", "memd config show --json | jq .settings.memory")
def show() -> None:
    """Print the effective settings and where each comes from."""
    places = Paths.resolve()
    settings, layers = settings_of(places)
    tree = settings.model_dump(mode="json")
    sources = origins_of(places)
    database = str(places.with_data_dir(settings.memory.storage.data_dir).database)
    if console.print_if_json(
        {"settings": tree, "sources": sources, "warnings": layers, "database": database}
    ):
        return
    # As comments, so that the output is a valid settings file.
    console.out(f"# database: {console.line(database)}")
    for warning in layers:
        console.out(f"# warning: {console.line(warning)}")
    for line in _lines(tree, sources):
        console.out(line)


@options.examples("memd config path", '"$EDITOR" "$(memd config path)"')
def path() -> None:
    """Print the path of the settings file.

    With --json, all paths of the profile, for which the file must be readable.
    """
    from memd.base.settings import find, peek

    places = Paths.resolve()
    if console.is_json():
        every = asdict(places.with_settings())
        usage = peek(find(places.config_file), os.environ, ("usage", "path"))
        if isinstance(usage, str):
            every["usage_dir"] = expand_folder("usage.path", usage)
        console.print_json({name: str(value) for name, value in every.items()})
        return
    file = find(places.config_file)
    console.out(str(file or places.config_file))
    if file is None:
        console.note("the file does not exist yet; all settings have their defaults")


def _lines(
    tree: dict[str, Any], sources: dict[str, str], above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield YAML, with the file or variable that set each value as a comment."""
    import yaml

    from memd.base.settings import join_key

    indent = "  " * len(above)
    for name, value in tree.items():
        key = join_key((*above, name))
        if isinstance(value, dict) and value:
            yield f"{indent}{yaml.safe_dump({name: None}).partition(': null')[0]}:"
            yield from _lines(value, sources, (*above, name))
            continue
        first, *rest = yaml.safe_dump(
            {name: value}, sort_keys=False, allow_unicode=True, width=sys.maxsize
        ).splitlines()
        written = next(
            (origin for at, origin in sources.items() if f"{key}.".startswith(f"{at}.")), ""
        )
        yield f"{indent}{first}{f'  # {written}' if written and not _is_block(first) else ''}"
        yield from (f"{indent}{line}" for line in rest)


def _is_block(line: str) -> bool:
    """Return whether *line* begins a block text, where a comment would be part of the value."""
    return line.rstrip().endswith(("|", "|-", "|+", ">", ">-", ">+"))


def origins_of(places: Paths) -> dict[str, str]:
    """Return the settings that are not defaults, each with its variable or ``file``."""
    from memd.base.settings import find, origins

    return origins(find(places.config_file), os.environ)


def settings_of(places: Paths) -> tuple[Settings, list[str]]:
    """Return the settings of a profile, and warnings about values without effect."""
    from memd.base.settings import find, load
    from memd.domain.settings.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = load(Settings, find(places.config_file), os.environ)
    return tree, [str(warning.message) for warning in caught]


Key = Annotated[
    str, "KEY", 'Dotted name, as in memd config show; quote a part that has a dot: "a.b".'
]


@options.examples(
    "memd config set daemon.undo_days 60",
    "memd config set memory.consolidation.interval weekly",
    'memd config set memory.agents \'{"kit": {"level": "session"}}\'',
    "memd config set 'memory.agents.\"review.bot\".level' session",
    "memd config set memory.retrieval.relevance_weight 0.6 memory.retrieval.recency_weight 0.4",
)
def set_value(
    key: Key,
    value: Annotated[str, "VALUE", "Text, number, true, false, null or JSON."],
    more: Annotated[
        list[str] | None, "[KEY VALUE...]", "Further settings, for those that must agree."
    ] = None,
) -> None:
    """Change settings in the settings file, and reload the daemon."""
    words = [key, value, *(more or ())]
    if len(words) % 2:
        raise InvalidError(f"{words[-1]} has no value", hint="memd config set KEY VALUE KEY VALUE")
    _change(dict(zip(words[::2], map(_value, words[1::2]), strict=True)))


@options.examples("memd config unset daemon.undo_days")
def unset(key: Key) -> None:
    """Remove a setting, so that its default applies."""
    _change({key: _UNSET})


_UNSET = object()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


Changes = dict[tuple[str, ...], Any]
"""The settings to change by their paths, each with its new value or _UNSET."""


def _change(values: dict[str, Any]) -> None:
    from memd.base.settings import find, join_key, split_key

    places = Paths.resolve()
    changes = {split_key(key): value for key, value in values.items()}
    with _lock(places.config_file.parent):
        file = find(places.config_file) or places.config_file
        changed, messages, reload = _write_change(file, changes)
    if console.print_if_json(
        {"file": str(file), "changed": changed, "daemon": reload, "warnings": messages}
    ):
        return
    console.out(console.line(str(file)))
    for warning in messages:
        console.note(console.line(warning))
    _note_effect([join_key(path) for path in changes], reload)


def _write_change(file: Path, changes: Changes) -> tuple[bool, list[str], dict[str, Any] | None]:
    """Write all *changes*; return whether the file changed, warnings, and the daemon's answer.

    Changes that a running daemon refuses are reverted. Otherwise its next start could fail, or
    apply what this client may not change.
    """
    from memd.assist.connect import files
    from memd.base.settings import read

    tree = read(file) if file.exists() else {}
    for path, value in changes.items():
        tree = _with(tree, path, value)
    messages = _warnings(tree, file, changes)
    before = files.read(file)
    old = before or ""
    new = _edit_all(old, file, changes, tree)
    if new != old:
        if old:
            files.write(files.backup_of(file), old)
        files.write(file, new)
    try:
        return new != old, messages, _reload()
    except MemdError:
        if before is None:
            files.remove(file)
        elif new != old:
            files.write(file, old)
        raise


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the settings in *folder*, so that concurrent commands lose no change."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _warnings(tree: dict[str, Any], file: Path, changes: Changes) -> list[str]:
    """Return the warnings about *tree*. Raises MemoryConfigError as a start would.

    The file is checked together with the variables of this environment. If it is valid only with
    them, that is a warning, since the daemon's may differ. An invalid value among *changes* is an
    error even if a variable overrides it.
    """
    from memd.base.settings import join_key, load_tree, validate
    from memd.domain.settings.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = load_tree(Settings, tree, file, os.environ)
    _check_log(settings)
    texts = [str(warning.message) for warning in caught]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reported above
        try:
            validate(Settings, tree, file)
        except MemoryConfigError as error:
            if any(f"{error.field}.".startswith(f"{join_key(path)}.") for path in changes):
                raise
            texts.append(f"without this environment it would be refused: {error.message}")
    return texts


def _check_log(settings: Settings) -> None:
    """Raise an error for a log file that a daemon could not write."""
    from memd.base.log import LogFile

    daemon = settings.daemon
    if daemon.log_file is not None:
        path = Path(daemon.log_file).expanduser()
        LogFile(path, daemon.log_file_bytes, daemon.log_files_kept).check()


def _note_effect(keys: list[str], reload: dict[str, Any] | None) -> None:
    from memd.base.settings import split_key

    for key in keys:
        variable = "MEMD_" + "__".join(split_key(key)).upper()
        if variable in os.environ:
            console.note(f"{variable} is set in this environment and overrides the file")
    if reload is None:
        console.note("no daemon is running: takes effect at the next start")
    elif any(f"{name}.".startswith(f"{key}.") for name in reload["waiting"] for key in keys):
        console.note("takes effect when the daemon restarts")


def _reload() -> dict[str, Any] | None:
    """Let the daemon reload its settings and return its answer; None if none runs."""
    from memd.cli.connection import call

    try:
        effect: dict[str, Any] = call("system.reload")
    except NotRunningError:
        return None
    return effect


def _edit_all(text: str, file: Path, changes: Changes, tree: dict[str, Any]) -> str:
    """Return the text of the file with all *changes*. Raises an error if that is not *tree*."""
    from memd.assist.connect.text import UnreadableError

    try:
        for path, value in changes.items():
            text = _edit(text, file, path, value)
        if _tree(text, file) == tree:
            return text
    except UnreadableError:
        pass
    raise MemoryConfigError(f"memd cannot edit {file} as it is written", hint="edit it yourself")


def _edit(text: str, file: Path, path: tuple[str, ...], value: Any) -> str:
    """Return the text of the file with *value* set, or removed, at *path*."""
    if file.suffix == ".toml":
        return _in_toml(text, path, value)
    from memd.assist.connect import yaml_text

    if value is _UNSET:
        return yaml_text.remove(text, _whole(yaml_text.values(text), path))
    return _in_place(text, path, value) or yaml_text.put(text, path, value)


def _whole(tree: Any, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return *path*, or the path of the outermost section that would become empty."""
    sections = [tree]
    for step in path[:-1]:
        sections.append(sections[-1].get(step) if isinstance(sections[-1], dict) else None)
    while len(path) > 1 and isinstance(sections[-1], dict) and len(sections.pop()) == 1:
        path = path[:-1]
    return path


def _in_place(text: str, path: tuple[str, ...], value: Any) -> str | None:
    """Replace a scalar in YAML in place; return None if *path* has no plain scalar."""
    import yaml

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for step in path:
        members = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((member for name, member in members if name.value == step), None)
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        return None
    written = json.dumps(value, ensure_ascii=False)
    return text[: node.start_mark.index] + written + text[node.end_mark.index :]


def _in_toml(text: str, path: tuple[str, ...], value: Any) -> str:
    import tomlkit

    if value is None:
        raise InvalidError("TOML has no null", hint=f"memd config unset {'.'.join(path)}")
    document = tomlkit.parse(text)
    table: Any = document
    above: list[tuple[Any, str]] = []
    for step in path[:-1]:
        if value is _UNSET and step not in table:
            return text
        above.append((table, step))
        table = table.setdefault(step, tomlkit.table())
        if not isinstance(table, dict):
            raise InvalidError(f"{step} is not a section", field="key")
    if value is _UNSET:
        table.pop(path[-1], None)
        while above and not table and "#" not in table.as_string():  # an empty section
            table, step = above.pop()
            table.pop(step)
    else:
        table[path[-1]] = value
    return tomlkit.dumps(document)


def _tree(text: str, file: Path) -> Any:
    """Parse the text of a settings file as a start would."""
    if file.suffix == ".toml":
        import tomllib

        return _without_empty(tomllib.loads(text))
    import yaml

    return _without_empty(yaml.safe_load(text) or {})


def _with(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return *tree* with *value* set, or removed, at *path*."""
    step, *below = path
    if below:
        inner = tree.get(step)
        inside = _with(inner if isinstance(inner, dict) else {}, tuple(below), value)
        tree = {**tree, step: inside}
    else:
        tree = {name: node for name, node in tree.items() if name != step}
        if value is not _UNSET:
            tree[step] = value
    filled: dict[str, Any] = _without_empty(tree)
    return filled


def _without_empty(tree: Any) -> Any:
    """Return *tree* without empty sections, which removing a key may leave."""
    if not isinstance(tree, dict):
        return tree
    members = {name: _without_empty(value) for name, value in tree.items()}
    return {name: value for name, value in members.items() if value != {}}
