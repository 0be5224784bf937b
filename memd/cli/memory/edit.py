"""``memd edit``: change the text of a memory, keeping its id and the previous version."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from memd.base.errors import InvalidError, InvalidStateError
from memd.base.paths import Paths
from memd.cli import options, say
from memd.cli.reach import daemon


@options.examples(
    "memd edit 6f2f9b11",
    'memd edit 6f2f9b11 --text "We deploy on Thursdays"',
    "sed s/heron/stork/ note.md | memd edit 6f2f9b11 --text -",
)
def edit(
    memory_id: Annotated[
        str, options.Argument(metavar="ID", help="Id, as printed by search or list.")
    ],
    text: Annotated[
        str | None,
        options.option("--text", metavar="TEXT", help="The new text; - reads stdin."),
    ] = None,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Edit the text of a memory in $VISUAL or $EDITOR, or with --text.

    The memory keeps its id and tags. Saving the text unchanged does nothing.
    """
    named = options.without_none(id=memory_id, agent_id=agent)
    with daemon(profile) as client:
        entry = client.call("memory.get", named)
        if entry is None:
            say.report_unknown(memory_id)
            raise say.CommandExit(say.Exit.ERROR)
        content = _content(entry["content"], text, profile)
        if content == entry["content"]:
            say.note("nothing was changed")
        else:
            entry = client.call("memory.update", {**named, "id": entry["id"], "content": content})
    if json:
        say.print_json({"memory": entry})
    say.report_secrets(content, entry["content"])


def _content(before: str, text: str | None, profile: str | None) -> str:
    raw = sys.stdin.read() if text == "-" else text
    after = (_run_editor(before, profile) if raw is None else raw).rstrip("\n")
    if not after.strip():
        raise InvalidError("the new text is empty", hint="to delete the memory: memd delete")
    return after


def _run_editor(text: str, profile: str | None) -> str:
    """Let the person edit *text* in a private temporary file and return the result."""
    if not sys.stdin.isatty():
        raise InvalidError("no terminal for the editor", hint="use --text TEXT, or --text -")
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    runtime = Paths.resolve(profile).runtime_dir  # in memory, where the system has one
    with tempfile.TemporaryDirectory(dir=runtime if runtime.is_dir() else None) as folder:
        file = Path(folder) / "memory.md"
        file.write_text(text + "\n", encoding="utf-8")
        try:
            code = subprocess.run([*editor, str(file)], check=False).returncode  # noqa: S603  # the person's own
        except OSError as error:
            raise InvalidStateError(
                f"{editor[0]} cannot be started: {error.strerror}", hint="set EDITOR, or use --text"
            ) from error
        if code:
            raise InvalidStateError(f"{editor[0]} exited with code {code}; nothing was changed")
        return file.read_text(encoding="utf-8")
