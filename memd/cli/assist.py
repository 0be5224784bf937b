"""What connects assistants."""

from __future__ import annotations

from typing import Annotated

from memd.cli import options


@options.examples("memd mcp", "memd mcp --client codex")
def mcp(
    client: Annotated[
        str | None,
        options.option(
            "--client", metavar="NAME", help='Whose key to present, as "memd client add" made it.'
        ),
    ] = None,
    profile: options.Profile = None,
) -> None:
    """Speak MCP on stdin and stdout, for an assistant to start; the daemon answers.

    It outlives the daemon: after a restart the next request finds it again.
    """
    from memd.assist import pump

    pump.run(client, profile)
