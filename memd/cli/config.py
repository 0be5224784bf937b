"""Look at the settings. There is no command to edit them: the file is the way."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

from memd.base.paths import Paths
from memd.cli import options, say

if TYPE_CHECKING:
    from memd.model.settings import Settings


@options.examples("memd config show", "memd config show --json | jq .settings.memory")
def show(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the settings as they take effect: the file, the environment, the defaults."""
    tree = settings_of(Paths.resolve(profile)).model_dump(mode="json")
    if json:
        say.as_json({"settings": tree})
        return
    import yaml

    say.out(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).rstrip())


@options.examples("memd config path", '"$EDITOR" "$(memd config path)"')
def path(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the path of the settings file; with --json every place of the profile."""
    places = Paths.resolve(profile)
    if json:
        say.as_json({name: str(value) for name, value in asdict(places).items()})
        return
    from memd.base.settings import find

    found = find(places.config_file)
    say.out(str(found or places.config_file))
    if found is None:
        say.note("it does not exist yet: every setting has its default")


def settings_of(places: Paths) -> Settings:
    """Return the settings of a profile; says on stderr what was accepted but overruled."""
    from memd.base.settings import find, load
    from memd.model.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = load(Settings, find(places.config_file), os.environ)
    for warning in caught:
        say.note(f"memd: {warning.message}")
    return tree
