"""What connects assistants: what to write into their files, and what they then start."""

from __future__ import annotations

import os
from typing import Annotated

from memd.base.errors import InvalidError
from memd.base.paths import Paths
from memd.cli import options, say


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


@options.examples("memd connect claude-code --print", "memd connect codex --print")
def connect(
    name: Annotated[str, options.Argument(metavar="NAME", help="claude-code or codex.")],
    print_: Annotated[
        bool, options.option("--print", help="Print what to add to which file.")
    ] = False,
    profile: options.Profile = None,
) -> None:
    """Say how an assistant is connected by MCP. memd itself changes no file of theirs.

    Its key is named where it has one: "memd client add NAME --agent NAME" makes it.
    """
    from memd.assist.connect import ASSISTANTS
    from memd.cli.service import command_path

    if name not in ASSISTANTS:
        raise InvalidError(
            f"memd knows no assistant {name!r}", hint=f"there are {', '.join(ASSISTANTS)}"
        )
    if not print_:
        raise InvalidError(
            "memd does not write into an assistant's files yet",
            hint=f"memd connect {name} --print says what to add",
        )
    has_key = (Paths.resolve(profile).keys_dir / f"{name}.key").is_file()
    environ = {**os.environ, **({"MEMD_PROFILE": profile} if profile else {})}
    if environ.get("XDG_RUNTIME_DIR") == f"/run/user/{os.getuid()}":
        del environ["XDG_RUNTIME_DIR"]  # looked for there without being told
    file, text = ASSISTANTS[name](str(command_path()), name if has_key else None, environ)
    say.note(f"add to {file}, and start the assistant again:")
    say.out(text)
    if not has_key:
        say.note(
            f"without a key it shares the agent default; for memories of its own first: "
            f"memd client add {name} --agent {name}"
        )
