"""What a new session is told before it asks, shown to a person."""

from __future__ import annotations

from typing import Annotated, Any

from memd.cli import options, say
from memd.cli.inject import show_messages
from memd.cli.reach import ask


@options.examples(
    "memd brief",
    "memd brief --project billing",
    "memd brief --session 0190c2de --json",
)
def brief(
    project: options.Project = None,
    session: Annotated[
        str | None,
        options.option(
            "--session", metavar="ID", help="The session that is told: less what it has."
        ),
    ] = None,
    budget: Annotated[
        int | None,
        options.option("--budget", metavar="TOKENS", help="How many tokens; default: 2000."),
    ] = None,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Show what memd would tell a session at its beginning, or after its window was emptied."""
    params = options.given(
        project_id=project, session_id=session, token_budget=budget, agent_id=agent
    )
    found: dict[str, Any] = ask(profile, "inject.brief", params)
    if json:
        say.as_json(found)
        return
    show_messages(found, "nothing: there is nothing to tell yet")
