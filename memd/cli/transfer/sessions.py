"""Import recorded sessions: the daemon naps over each as if it had just ended."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import InvalidError
from memd.base.limits import FRAME_BYTES_MAX, NAP_TRANSCRIPT_BYTES_MAX
from memd.cli import console
from memd.cli.notes.folder import LINES, MARKDOWN
from memd.cli.notes.note import leading_day
from memd.cli.notes.send import FileOutcome, Options
from memd.cli.options import without_none

if TYPE_CHECKING:
    from memd.cli.transfer.chats import Chat
    from memd.client import Client

_HEAD_BYTES = 1_048_576
"""Bytes that are read to recognize the format of a file."""
_FIRST_BYTES = 65_536
"""Bytes that are read to find when a session began."""
_TIME = re.compile(rb"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_PART_CHARS = FRAME_BYTES_MAX // 7  # JSON may write a character as six bytes
_PAGES = MARKDOWN | {".txt"}
_SPECSTORY = ".specstory"


def is_session(path: Path) -> bool:
    """Return whether *path* contains a session recorded by an assistant, by its content."""
    from memd.signals import specstory, transcripts

    suffix = path.suffix.lower()
    head = _read(path, _HEAD_BYTES if suffix in LINES | _PAGES else NAP_TRANSCRIPT_BYTES_MAX)
    if suffix in _PAGES:
        return specstory.knows(head)
    return not head.lstrip().startswith(b'{"memd"') and transcripts.is_transcript(head)


def began_at(path: Path) -> str:
    """Return the first time in a file of JSON lines, as written there; "" for other files.

    Sessions are imported in this order, so that later statements supersede earlier ones.
    """
    if path.suffix.lower() not in LINES:
        return ""
    with suppress(InvalidError):
        if first := _TIME.search(_read(path, _FIRST_BYTES)):
            return first[0].decode()
    return ""


def send(
    client: Client, outcome: FileOutcome, options: Options, tell: Callable[[str], None]
) -> None:
    """Import the session in the file of *outcome*, and count the results in *outcome*.

    The text is sent in parts; a kill in between leaves nothing. Progress goes to *tell*.
    """
    _report_unused(outcome, options, "a session")
    text = _transcript(outcome.file).decode("utf-8", "replace")
    session = _hand_over(client, outcome, text, options, tell)
    outcome.started_at, outcome.project = session["started_at"], session["project_id"]
    _report_removed(outcome)


def send_chats(
    client: Client,
    outcome: FileOutcome,
    chats: Iterable[Chat],
    count: int,
    options: Options,
    tell: Callable[[str], None],
) -> None:
    """Import each of *chats*, *count* in all, as a session of its own.

    Unchanged sessions are not distilled again, so an interrupted import continues where it
    stopped.
    """
    _report_unused(outcome, options, "chats")
    for number, chat in enumerate(chats, 1):
        tell(f"chat {number:,} of {count:,}")
        if not chat.messages:
            continue
        try:
            _hand_over(client, outcome, chat.transcript(), options, lambda _: None)
        except InvalidError as error:
            outcome.problems.append(f"chat {chat.name}: {error.message}")
    _report_removed(outcome)
    outcome.problems.append(f"{count:,} chats; to search their text: memd search --sessions")


def _report_unused(outcome: FileOutcome, options: Options, what: str) -> None:
    if options.tags or options.namespace or options.project:
        outcome.problems.append(f"{what}: --tag, --namespace and --project apply to notes only")


def _hand_over(
    client: Client, outcome: FileOutcome, text: str, options: Options, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Send a transcript in parts, count the results in *outcome*, and return the last answer."""
    common = without_none(agent_id=options.agent)
    last = (len(text) - 1) // _PART_CHARS * _PART_CHARS
    for offset in range(0, last, _PART_CHARS):
        part = text[offset : offset + _PART_CHARS]
        client.call("session.import", {**common, "text": part, "offset": offset, "more": True})
        tell(f"importing {outcome.file.name}, {offset / len(text):.0%}")
    tell(f"distilling {outcome.file.name}")
    whole = without_none(
        session_id=_fallback(outcome.file),
        cwd=_project(outcome.file),
        said_at=_moment(outcome.file),
        dry_run=options.dry_run or None,
    )
    end = {"text": text[last:], "offset": max(last, 0)}
    session: dict[str, Any] = client.call("session.import", {**common, **whole, **end})
    _count(outcome, session)
    return session


def _count(outcome: FileOutcome, result: dict[str, Any]) -> None:
    outcome.new += result["new"]
    outcome.kept += result["kept"]
    outcome.quarantined += result["quarantined"]
    outcome.session = result["session_id"]
    outcome.messages = result["messages"]
    outcome.trashed += result["trashed"]
    outcome.forgotten += result["forgotten"]


def _report_removed(outcome: FileOutcome) -> None:
    if outcome.trashed:
        count = console.count(outcome.trashed, "memory")
        outcome.problems.append(f"{count} of it in the trash: memd trash list, memd trash restore")
    if outcome.forgotten:
        count = console.count(outcome.forgotten, "memory")
        outcome.problems.append(f"{count} of it forgotten, and not learnt again")


def _read(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(size)
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}") from error


def _transcript(path: Path) -> bytes:
    """Return the transcript; if it is longer than naps read, its first line and its end.

    The first line may be the only one with the session's id.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            if size <= NAP_TRANSCRIPT_BYTES_MAX:
                return stream.read(NAP_TRANSCRIPT_BYTES_MAX)
            first = stream.readline(_HEAD_BYTES)
            first = first if first.endswith(b"\n") else b""
            stream.seek(size - NAP_TRANSCRIPT_BYTES_MAX + len(first))
            _, _, end = stream.read(NAP_TRANSCRIPT_BYTES_MAX - len(first)).partition(b"\n")
            return first + end
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}") from error


def _fallback(path: Path) -> str:
    """Return an id, stable for the file, for a session that has none."""
    return f"{path.stem[:128]}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _moment(path: Path) -> str | None:
    """Return the time for a session without times: the day in the file's name, else its mtime."""
    day = leading_day(path.name)
    if day is not None:
        return day.isoformat()
    with suppress(OSError, OverflowError, ValueError):
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
    return None


def _project(path: Path) -> str | None:
    """Return the project of a SpecStory page: the folder that contains ``.specstory``."""
    steps = path.parts
    return str(Path(*steps[: steps.index(_SPECSTORY)])) if _SPECSTORY in steps[1:] else None
