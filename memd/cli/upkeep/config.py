"""``memd config show`` and ``path``: the effective settings and their origins."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memd.base.paths import Paths
from memd.cli import options, say

if TYPE_CHECKING:
    from memd.domain.settings.settings import Settings


@options.examples("memd config show", "memd config show --json | jq .settings.memory")
def show(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the effective settings with their origins, warnings, and the database path."""
    places = Paths.resolve(profile)
    settings, layers = settings_of(places)
    tree = settings.model_dump(mode="json")
    sources = origins_of(places)
    database = str(places.with_data_dir(settings.memory.storage.data_dir).database)
    if json:
        say.print_json(
            {"settings": tree, "sources": sources, "warnings": layers, "database": database}
        )
        return
    # As comments, so that the output is a valid settings file.
    say.out(f"# database: {say.line(database)}")
    for warning in layers:
        say.out(f"# warning: {say.line(warning)}")
    for line in _lines(tree, sources):
        say.out(line)


@options.examples("memd config path", '"$EDITOR" "$(memd config path)"')
def path(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the path of the settings file; with --json, all paths of the profile."""
    places = Paths.resolve(profile).with_settings()
    if json:
        say.print_json({name: str(value) for name, value in asdict(places).items()})
        return
    from memd.base.settings import find

    file = find(places.config_file)
    say.out(str(file or places.config_file))
    if file is None:
        say.note("the file does not exist yet; all settings have their defaults")


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
