"""Files that other programs exported: chats become sessions, memories become memories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memd.base.errors import InvalidError
from memd.cli import chats, foreign, opencode, recorded
from memd.cli.notes import claude_mem, elsewhere
from memd.cli.notes.folder import LINES
from memd.cli.notes.send import FileOutcome, Options, send_items

if TYPE_CHECKING:
    from memd.client import Client

_HEAD_BYTES = 4_096


def is_one(path: Path) -> bool:
    """Return whether *path* may be an export of another program, by its name and beginning.

    A JSON file is: memd makes none, and no note is one. A folder is if it is opencode's.
    """
    suffix = path.suffix.lower()
    if suffix in {".zip", ".json"} or path.is_dir() or foreign.is_one(path):
        return True
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False  # whoever reads it says why
    if suffix in LINES:
        first = head.partition(b"\n")[0]
        return b'"entityType"' in first or b'"relationType"' in first
    return head.lstrip().startswith(chats.AIDER.encode())


def send(client: Client, outcome: FileOutcome, said: Options, tell: Callable[[str], None]) -> None:
    """Hand over what the file of *outcome* holds. Raises InvalidError for one that is unknown."""
    tell(f"reading {outcome.file.name}")
    if outcome.file.is_dir():
        count, sessions = opencode.of_folder(outcome.file)
        recorded.send_chats(client, outcome, sessions, count, said, tell)
        return
    if foreign.is_one(outcome.file):
        _send_database(client, outcome, said, tell)
        return
    text = chats.packed(outcome.file) if outcome.file.suffix.lower() == ".zip" else _read(outcome)
    found = chats.chats(text)
    if found is None:
        found = opencode.of_export(text)
    if found is not None:
        recorded.send_chats(client, outcome, found, len(found), said, tell)
        return
    items = elsewhere.memories(text)
    if items is None:
        known = f"no export of {chats.KNOWN}, and no memories of {elsewhere.KNOWN}"
        raise InvalidError(f"{known}; as a note: --format text")
    send_items(client, outcome, items, said)


def _send_database(
    client: Client, outcome: FileOutcome, said: Options, tell: Callable[[str], None]
) -> None:
    with foreign.opened(outcome.file) as (conn, tables):
        if opencode.knows(tables):
            count, sessions = opencode.of_database(conn)
            recorded.send_chats(client, outcome, sessions, count, said, tell)
        elif claude_mem.knows(tables):
            send_items(client, outcome, claude_mem.memories(conn, tables), said)
            asked = claude_mem.prompts(conn, tables)
            recorded.send_chats(client, outcome, asked, len(asked), said, tell)
        else:
            raise InvalidError("a database of neither opencode nor claude-mem")


def _read(outcome: FileOutcome) -> str:
    try:
        with outcome.file.open("rb") as stream:
            raw = stream.read(chats.BYTES_MAX + 1)
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}") from error
    if len(raw) > chats.BYTES_MAX:
        raise InvalidError(f"larger than {chats.BYTES_MAX // 1_048_576} MiB")
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
