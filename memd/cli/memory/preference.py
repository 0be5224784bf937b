"""What you prefer: set by name, told to an assistant before anything else."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

from memd.cli import options, say
from memd.cli.reach import ask, daemon
from memd.cli.tables import table, text_column, time, word

PreferenceName = Annotated[str, options.Argument(metavar="NAME", help="Name, such as editor.")]


@options.examples(
    "memd preference set editor I use Neovim", 'memd preference set answers "Short, no praise"'
)
def set_(
    name: PreferenceName,
    words: Annotated[
        list[str], options.Argument(metavar="VALUE...", help="The preference, as a sentence.")
    ],
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Set a preference, replacing one of the same name."""
    value = options.joined(words)
    named = options.without_none(name=name, agent_id=agent)
    with daemon(profile) as client:
        client.call("preference.set", {**named, "value": value})
        kept = client.call("preference.get", named)
    if json:
        say.as_json({"preference": kept})
    say.replaced(value, kept["value"] if kept else "")


@options.examples("memd preference list", "memd preference list --json")
def list_(
    agent: options.Agent = None, profile: options.Profile = None, json: options.Json = False
) -> None:
    """List preferences, newest first: those set by name and those found in texts."""
    page = ask(profile, "preference.list", options.without_none(agent_id=agent))
    if json:
        say.as_json(page)
        return
    table(
        (word("NAME"), time("SINCE"), word("WHOSE", whole=True), text_column("VALUE")),
        ((one["name"], one["updated_at"], _whose(one), one["value"]) for one in page["items"]),
    )
    if not all(one["confirmed"] for one in page["items"]):
        say.note("prompts fence a preference until you confirm it: memd preference confirm NAME")
    if not page["items"]:
        say.note('no preferences; to set one: memd preference set editor "I use Neovim"')


@options.examples("memd preference get editor")
def get(
    name: PreferenceName,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Print one preference."""
    preference = ask(profile, "preference.get", options.without_none(name=name, agent_id=agent))
    if json:
        say.as_json({"preference": preference})
    elif preference is not None:
        say.out(say.quoted(preference["value"]))
    if preference is None:
        _unknown(name)


@options.examples("memd preference confirm editor")
def confirm(
    name: PreferenceName,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Confirm a preference that an assistant set, so that prompts no longer fence it.

    Prints the text; only that text is confirmed.
    """
    named = options.without_none(name=name, agent_id=agent)
    with daemon(profile) as client:
        preference = client.call("preference.get", named)
        if preference is None:
            _unknown(name)
        client.call("preference.confirm", {**named, "value": preference["value"]})
    if json:
        say.as_json({"preference": {**preference, "confirmed": True}})
    else:
        say.out(say.quoted(say.line(preference["value"])))
        say.note("confirmed: prompts give it as your own word")


@options.examples("memd preference delete editor")
def delete(
    name: PreferenceName,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Delete a preference. Memories that it was found in stay."""
    done = ask(profile, "preference.delete", options.without_none(name=name, agent_id=agent))
    if json:
        say.as_json({"deleted": done})
    if not done:
        _unknown(name)


def _whose(one: dict[str, Any]) -> str:
    return "yours" if one["confirmed"] else f"{one['origin']}, unconfirmed"


def _unknown(name: str) -> NoReturn:
    say.note(f"memd: no preference is called {say.line(name)}; see: memd preference list")
    raise say.Leave(say.Exit.ERROR)
