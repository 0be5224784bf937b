"""One block of what is known about a question, from all sources at once."""

from __future__ import annotations

from typing import Annotated

from memd.cli import options, say
from memd.cli.reach import ask


@options.examples(
    'memd synthesize "how do I fix Docker networking?"',
    'memd synthesize "deploy" --budget 1000 --session s1 --json',
)
def synthesize(
    query: Annotated[
        list[str], options.Argument(metavar="QUERY...", help="What you want to know.")
    ],
    budget: Annotated[
        int | None, options.option("--budget", metavar="TOKENS", help="How much may be said.")
    ] = None,
    session: options.Session = None,
    project: options.Project = None,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Print lessons, patterns that worked, what was said and summaries as one short block."""
    params = options.given(
        query=options.joined(query),
        max_tokens=budget,
        session_id=session,
        project_id=project,
        agent_id=agent,
    )
    made = ask(profile, "memory.synthesize", params)
    if json:
        say.as_json(made)
        return
    if made["block"]:
        say.out(say.composed(made["block"]))
    else:
        say.note(
            "nothing that is known fits" if not made["left_out"] else "nothing fits the budget"
        )
    if made.get("degraded"):
        say.note(f"memd: {made['degraded']}")
