"""Read chats exported by ChatGPT and Claude, aider's history, and SQLite files of other programs.

Each chat becomes a session that has ended: a transcript with the chat's own id and times, so that
importing it again adds nothing. SQLite files are only read, and no file is created next to them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from memd.base.errors import InvalidError

BYTES_MAX = 512 * 1024 * 1024
"""Maximum size of an export, also unpacked: a zip file may expand to any size."""
CONVERSATIONS = "conversations.json"
AIDER = "# aider chat started at "
KNOWN = "ChatGPT, Claude, opencode and aider"

_UNPACKING = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError,
)  # fmt: skip
"""Exceptions raised for a damaged, encrypted or unsupported archive."""
_PROMPT = "#### "
_TOOL_OUTPUT = "> "
"""The beginnings of a line of a prompt, and of output of aider itself, in aider's history."""
_ROLES = {"user": "user", "human": "user", "assistant": "assistant"}


class ChatLine(NamedTuple):
    """One message at the time *at*, "" if unknown: a text, or blocks in Claude's format."""

    role: str
    content: str | list[dict[str, Any]]
    at: str


class Chat(NamedTuple):
    """One conversation, with the id given by its program, else one made of its messages."""

    name: str
    messages: list[ChatLine]
    cwd: str | None = None
    """Its working directory, if known."""

    def transcript(self) -> str:
        """Return the chat as a transcript in the format of Claude Code."""
        place = {} if self.cwd is None else {"cwd": self.cwd}
        lines = [
            {
                "type": message.role,
                "sessionId": self.name,
                "uuid": f"{self.name}-{number}",
                "timestamp": message.at,
                "message": {"role": message.role, "content": message.content},
                **place,
            }
            for number, message in enumerate(self.messages)
        ]
        return "".join(f"{json.dumps(line)}\n" for line in lines)


def read_zip(path: Path) -> str:
    """Return the conversations file in a zip file. Raises InvalidError if there is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if Path(name).name == CONVERSATIONS]
            if not names:
                raise InvalidError(
                    f"contains no {CONVERSATIONS}: not an export of ChatGPT or Claude"
                )
            with archive.open(names[0]) as stream:
                raw = stream.read(BYTES_MAX + 1)
    except _UNPACKING as error:
        raise InvalidError(f"cannot be unpacked: {error}") from error
    if len(raw) > BYTES_MAX:
        raise InvalidError(f"larger than {BYTES_MAX // 1_048_576} MiB unpacked")
    return raw.decode("utf-8", "replace")


def parse_chats(text: str) -> list[Chat] | None:
    """Return the chats of an export, or None for an unknown format."""
    if text.startswith(AIDER) or f"\n{AIDER}" in text[:4_096]:
        return list(_of_aider(text))
    try:
        return _of_rows(json.loads(text))
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None  # another format; the caller reports it


def _of_rows(rows: Any) -> list[Chat] | None:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    if all("chat_messages" in row for row in rows):
        conversations = [_chat(row.get("uuid"), _of_claude(row)) for row in rows]
    elif all("mapping" in row for row in rows):
        conversations = [_of_chatgpt(row) for row in rows]
    else:
        return None
    return [chat for chat in conversations if chat.messages]


def _of_claude(row: Mapping[str, Any]) -> list[ChatLine]:
    chat_lines = []
    for turn in row["chat_messages"]:
        blocks = [block for block in turn.get("content") or () if isinstance(block, Mapping)]
        words = "\n".join(str(block["text"]) for block in blocks if block.get("text"))
        text = words or str(turn.get("text") or "")
        role = _ROLES.get(str(turn.get("sender")))
        if role and text.strip():
            at = turn.get("created_at") or row.get("created_at") or ""
            chat_lines.append(ChatLine(role, text, str(at)))
    return chat_lines


def _of_chatgpt(row: Mapping[str, Any]) -> Chat:
    """Return the current branch of a chat, collected from its end to its beginning."""
    nodes, at = row["mapping"], row.get("current_node")
    chat_lines: list[ChatLine] = []
    visited: set[str] = set()
    while isinstance(at, str) and at in nodes and at not in visited:
        visited.add(at)
        message = nodes[at].get("message") or {}
        role = _ROLES.get(str((message.get("author") or {}).get("role")))
        pieces = (message.get("content") or {}).get("parts") or ()
        text = "\n".join(piece for piece in pieces if isinstance(piece, str)).strip()
        if role and text:
            when = message.get("create_time") or row.get("create_time")
            chat_lines.append(ChatLine(role, text, iso_time(when)))
        at = nodes[at].get("parent")
    return _chat(row.get("conversation_id") or row.get("id"), chat_lines[::-1])


def _chat(name: object, messages: list[ChatLine]) -> Chat:
    """Return a chat. One without a *name* gets a hash of its messages, so that chats stay apart."""
    if not name:
        name = f"chat-{hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:16]}"
    return Chat(str(name), messages)


def iso_time(seconds: Any) -> str:
    """Format seconds since 1970 as ISO 8601 in UTC; return "" if *seconds* are no time.

    >>> iso_time(1.5), iso_time(None)
    ('1970-01-01T00:00:01.500000+00:00', '')
    """
    try:
        return datetime.fromtimestamp(float(seconds), UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _of_aider(text: str) -> Iterator[Chat]:
    for part in re.split(rf"^(?={AIDER})", text, flags=re.MULTILINE):
        head, _, rest = part.partition("\n")
        began = head.removeprefix(AIDER).strip()
        try:
            at = datetime.fromisoformat(began).astimezone().isoformat()
        except ValueError:
            continue
        if messages := list(_of_lines(rest.split("\n"), at)):
            yield Chat(f"aider-{began.replace(' ', 'T')}", messages)


def _of_lines(lines: Sequence[str], at: str) -> Iterator[ChatLine]:
    """Yield the messages of a chat of aider, without the program's own output.

    A message is a run of lines of a prompt, or of other lines after the first prompt.
    """
    role, texts = "", list[str]()
    for line in lines:
        is_prompt = line.startswith(_PROMPT.rstrip())
        if line.startswith(_TOOL_OUTPUT) or not (is_prompt or role):
            continue
        next_role = "user" if is_prompt else "assistant"
        if next_role != role and (text := "\n".join(texts).strip()):
            yield ChatLine(role, text, at)
            texts = []
        role = next_role
        texts.append(line.removeprefix(_PROMPT.rstrip()).removeprefix(" ") if is_prompt else line)
    if text := "\n".join(texts).strip():
        yield ChatLine(role, text, at)


Tables = Mapping[str, frozenset[str]]
"""The columns of each table."""

_HEAD = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Return whether a file is an SQLite database, by its header."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_HEAD)) == _HEAD
    except OSError:
        return False  # reading it later reports the error


@contextlib.contextmanager
def open_database(path: Path) -> Iterator[tuple[sqlite3.Connection, Tables]]:
    """Open a database read-only, while its program may use it, and yield it with its tables.

    SQLite errors, also inside the block, are raised as InvalidError.
    """
    # Without a write-ahead log no program is writing, and "immutable" keeps SQLite from creating
    # a log. With one, its content must be read, too.
    is_used = path.with_name(f"{path.name}-wal").exists()
    uri = f"file:{quote(str(path))}?mode=ro{'' if is_used else '&immutable=1'}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as conn:
            conn.text_factory = _text
            conn.row_factory = sqlite3.Row
            conn.execute("PRAGMA trusted_schema = OFF")
            yield conn, _tables(conn)
    except sqlite3.Error as error:
        raise InvalidError(f"cannot be read: {error}") from error


def values(row: sqlite3.Row) -> dict[str, Any]:
    """Return a row as a dict, since the columns differ between versions."""
    return {name: row[name] for name in row.keys()}  # noqa: SIM118  # a row has values, not keys


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\0", "")


def _tables(conn: sqlite3.Connection) -> Tables:
    names: dict[str, set[str]] = {}
    for table, column in conn.execute(
        """
        SELECT m.name, c.name
          FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
         WHERE m.type = 'table'
        """
    ):
        names.setdefault(table, set()).add(column)
    return {table: frozenset(columns) for table, columns in names.items()}
