"""What was said in sessions, as a person searches it."""

from __future__ import annotations

from typing import Any

from memd.base.errors import InvalidError
from memd.cli import say
from memd.cli.reach import ask


def refuse(**given: object) -> None:
    """Raise InvalidError for an option that says something of memories only."""
    for name, value in given.items():
        if value:
            raise InvalidError(
                f"--{name} is of memories, not of what was said in sessions",
                field=f"--{name}",
                hint="leave it out, or search without --sessions",
            )


def search(profile: str | None, asked: dict[str, Any], *, json: bool) -> None:
    """Print the messages that hold the words, best first."""
    found = ask(profile, "session.search", asked)
    if json:
        say.as_json(found)
        return
    for hit in found["items"]:
        _show(hit)
    if not found["items"]:
        say.note("nothing of this was said in a session that is kept")


def said_by(role: str) -> str:
    """Return who said a message; a role that a program made up does not stand by itself.

    >>> said_by("user"), said_by("status: ok")
    ('user', 'by status: ok')
    """
    from memd.view.labels import ROLES

    return role if role in ROLES or role == "message" else f"by {say.line(role)}"


def _show(hit: dict[str, Any]) -> None:
    """Print one message: the words around those that match, then in grey whose and when."""
    who = said_by(hit["role"])
    say.out(f"{say.bold(who)}  {say.line(hit['snippet'], say.width() - len(who) - 2)}")
    where = [say.moment(hit["at"]), f"session {hit['session_id']}", f"message {hit['ordinal']}"]
    if hit.get("project_id"):
        where.insert(1, f"project {hit['project_id']}")
    say.out("      " + say.dim(say.line(" · ".join(where), say.width() - 6)))
