"""``memd owner``: create, renew and show the owner key."""

from __future__ import annotations

from typing import Annotated

from memd.base.paths import Paths
from memd.cli import options, say
from memd.cli.reach import daemon


@options.examples("memd owner init", "memd owner init --renew")
def init(
    renew: Annotated[
        bool,
        options.option("--renew", help="Replace the key; the old one signs the new one."),
    ] = False,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Create the owner key, protected by a passphrase. Needs a terminal.

    memd also creates it when it is first needed.
    """
    from memd.cli.org import signing
    from memd.org.signature import public_of

    with daemon(profile) as client:
        text = (signing.renew if renew else signing.make)(client, profile)
    if json:
        say.print_json({"public_key": public_of(text)})
    else:
        say.out(public_of(text))


@options.examples("memd owner show", "memd owner show --json")
def show(profile: options.Profile = None, json: options.Json = False) -> None:
    """Print the owner's public key, and the path of the private one."""
    with daemon(profile) as client:
        public = client.call("owner.state")["public_key"]
    place = Paths.resolve(profile).owner_key
    if json:
        say.print_json({"public_key": public, "file": str(place) if place.exists() else None})
    elif public is not None:
        say.out(public)
        say.note(str(place) if place.exists() else f"its file is missing: {place}")
    if public is None:
        say.note("memd: there is no owner key; to create it: memd owner init")
        raise say.CommandExit(say.Exit.ERROR)
