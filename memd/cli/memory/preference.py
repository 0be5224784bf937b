"""``memd preference``: named preferences, which every prompt contains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError, NotFoundError
from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.memory.memories import list_ as list_memories
from memd.cli.tables import table, text_column, time_column, word_column

if TYPE_CHECKING:
    from memd.client import Client

PreferenceName = Annotated[str, "NAME", "Name, such as editor."]


@options.examples(
    "memd preference set editor I use Neovim", 'memd preference set answers "Short, no praise"'
)
def set_(
    name: PreferenceName,
    words: Annotated[list[str], "VALUE...", "The preference, as a sentence."],
    agent: options.Agent = None,
) -> None:
    """Set a preference, replacing one of the same name.

    It applies to all projects. For one project, run in its folder: memd add "In this repo I prefer
    tabs".
    """
    from memd.text.preference import is_of_project

    value = options.join_words(words)
    params = options.without_none(name=name, agent_id=agent)
    with daemon() as client:
        client.call("preference.set", {**params, "value": value})
        stored = client.call("preference.get", params)
    if not console.print_if_json({"preference": stored}):
        console.note(f"set {console.line(name)}: every prompt has it, of all projects")
    console.report_secrets(value, stored["value"] if stored else "")
    if is_of_project(value):
        console.note(
            "for one project alone, delete it, and in its folder: "
            "memd add --category procedural TEXT"
        )


@options.examples("memd preference list", "memd preference list --json")
def list_(agent: options.Agent = None) -> None:
    """List preferences, newest first.

    Some were set by name; others were recognized in texts, and some of these have a number as their
    name. Wishes that naps recorded are memories, not preferences: memd list --category preference.
    """
    page = call("preference.list", agent_id=agent)
    if console.print_if_json(page):
        return
    columns = (
        text_column("PREFERENCE", "value"),
        word_column("WHOSE", _owner, whole=True),
        time_column("SINCE", "updated_at"),
        word_column("NAME", "name", whole=True),
    )
    table(columns, page["items"])
    if not all(preference["confirmed"] for preference in page["items"]):
        console.note(
            "prompts fence a preference until you confirm it: memd preference confirm NAME"
        )
    filters = options.filters("preference", None, None)
    has_wishes = bool(call("memory.list", limit=1, agent_id=agent, **filters)["items"])
    if not page["items"]:
        none = "none that is in every prompt" if has_wishes else "no preferences"
        console.note(f'{none}; to set one: memd preference set editor "I use Neovim"')
    if has_wishes:
        command = options.command_line("list", list_memories, category="preference", agent=agent)
        console.note(f"wishes that naps kept of sessions, for briefs: {command}")


@options.examples("memd preference get editor")
def get(name: PreferenceName, agent: options.Agent = None) -> None:
    """Print one preference.

    Its whole text is taken for its name, as for confirm and delete.
    """
    with daemon() as client:
        name = _find_name(client, name, agent)
        preference = client.call("preference.get", options.without_none(name=name, agent_id=agent))
    if console.is_json():
        console.print_json({"preference": preference})
    elif preference is not None:
        console.out(console.quote(preference["value"]))
    if preference is None:
        raise _unknown(name)


@options.examples("memd preference confirm editor")
def confirm(name: PreferenceName, agent: options.Agent = None) -> None:
    """Confirm a preference that an assistant set.

    Prompts no longer fence it. Prints the text; only that text is confirmed.
    """
    with daemon() as client:
        name = _find_name(client, name, agent)
        params = options.without_none(name=name, agent_id=agent)
        preference = client.call("preference.get", params)
        if preference is None:
            raise _unknown(name)
        client.call("preference.confirm", {**params, "value": preference["value"]})
    if not console.print_if_json({"preference": {**preference, "confirmed": True}}):
        console.out(console.quote(console.line(preference["value"])))
        console.note("confirmed: prompts give it as your own word")


@options.examples("memd preference delete editor")
def delete(name: PreferenceName, agent: options.Agent = None) -> None:
    """Delete a preference, and archive the memories that state it."""
    with daemon() as client:
        name = _find_name(client, name, agent)
        done = client.call("preference.delete", options.without_none(name=name, agent_id=agent))
    is_json = console.print_if_json({"deleted": done})
    if not done:
        raise _unknown(name)
    if not is_json:
        console.note(f"deleted {console.line(name)}; memories that state it are in the archive")


def _find_name(client: Client, name: str, agent: str | None) -> str:
    """Return the name of the preference whose whole text *name* is; else *name* itself.

    Raises InvalidError with the names of several.
    """
    items = client.call("preference.list", options.without_none(agent_id=agent))["items"]
    if any(item["name"] == name for item in items):
        return name
    names = [item["name"] for item in items if _fold(item["value"]) == _fold(name)]
    if len(names) > 1:
        raise InvalidError(
            "several preferences have this text", hint=f"give one of the names {', '.join(names)}"
        )
    return names[0] if names else name


def _fold(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _owner(preference: dict[str, Any]) -> str:
    owner = "yours" if preference["confirmed"] else f"{preference['origin']}, unconfirmed"
    project_id = preference["project_id"]
    return owner if project_id is None else f"{owner}, in {project_id}"


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"no preference is called {console.line(name)}", hint="see: memd preference list"
    )
