"""Look at the settings. There is no command to edit them: the file is the way."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

from memd.base.paths import Paths
from memd.cli import options, say

if TYPE_CHECKING:
    from memd.domain.settings.settings import Settings


@options.examples("memd config show", "memd config show --json | jq .settings.memory")
def show(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the settings as they take effect, what does not, and where memories lie."""
    places = Paths.resolve(profile)
    settings, told = settings_of(places)
    tree = settings.model_dump(mode="json")
    database = str(places.keeping_in(settings.memory.storage.data_dir).database)
    if json:
        say.as_json({"settings": tree, "warnings": told, "database": database})
        return
    import yaml

    # Comments, so that what is printed can be kept as a settings file.
    say.out(f"# database: {say.line(database)}")
    for warning in told:
        say.out(f"# warning: {say.line(warning)}")
    say.out(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).rstrip())


@options.examples("memd config path", '"$EDITOR" "$(memd config path)"')
def path(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the path of the settings file; with --json every place of the profile."""
    places = Paths.resolve(profile).located()
    if json:
        say.as_json({name: str(value) for name, value in asdict(places).items()})
        return
    from memd.base.settings import find

    found = find(places.config_file)
    say.out(str(found or places.config_file))
    if found is None:
        say.note("it does not exist yet: every setting has its default")


def settings_of(places: Paths) -> tuple[Settings, list[str]]:
    """Return the settings of a profile, and what is accepted but overruled or without effect."""
    from memd.base.settings import find, load
    from memd.domain.settings.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = load(Settings, find(places.config_file), os.environ)
    return tree, [str(warning.message) for warning in caught]
