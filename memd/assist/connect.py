"""What an assistant's own configuration has to say, so that it starts ``memd mcp``.

Pure: what is printed can be put into the file as it is, whatever the path of the command.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

PASSED_ON: Final = ("MEMD_HOME", "MEMD_PROFILE", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
"""Variables that say where memd is. Not every assistant hands its own on."""


class Addition(NamedTuple):
    """Which file, and what to add to it."""

    file: str
    text: str


def claude_code(command: str, client: str | None, environ: Mapping[str, str]) -> Addition:
    """Return Claude Code's entry, for all projects.

    >>> print(claude_code("/bin/memd", None, {}).text.replace(" ", ""))
    {
    "mcpServers":{
    "memd":{
    "command":"/bin/memd",
    "args":[
    "mcp"
    ]
    }
    }
    }
    """
    entry: dict[str, object] = {"command": command, "args": _arguments(client)}
    if where := _where(environ):
        entry["env"] = where
    return Addition("~/.claude.json", json.dumps({"mcpServers": {"memd": entry}}, indent=2))


def codex(command: str, client: str | None, environ: Mapping[str, str]) -> Addition:
    """Return Codex's table; a JSON string is a string of TOML, too.

    >>> print(codex("/bin/memd", "codex", {"MEMD_HOME": "/srv/m"}).text)
    [mcp_servers.memd]
    command = "/bin/memd"
    args = ["mcp", "--client", "codex"]
    env = { MEMD_HOME = "/srv/m" }
    """
    lines = [
        "[mcp_servers.memd]",
        f"command = {_quoted(command)}",
        f"args = [{', '.join(map(_quoted, _arguments(client)))}]",
    ]
    if where := _where(environ):
        pairs = (f"{name} = {_quoted(value)}" for name, value in where.items())
        lines.append(f"env = {{ {', '.join(pairs)} }}")
    return Addition("~/.codex/config.toml", "\n".join(lines))


ASSISTANTS: Final = {"claude-code": claude_code, "codex": codex}


def _arguments(client: str | None) -> list[str]:
    return ["mcp"] if client is None else ["mcp", "--client", client]


def _where(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in PASSED_ON if environ.get(name)}


def _quoted(text: str) -> str:
    # TOML has no surrogate escapes and forbids a bare DEL; JSON writes that one as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
