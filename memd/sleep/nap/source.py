"""Read the messages of a nap, and what the store knows about their session.

They come from the caller, from the assistant's transcript, or from the session's memories.

A transcript still contains messages that memd has erased, which must not be stored again. Of an
erased message memd has only a gap in the numbers of the session's messages. A transcript keeps the
order, so an unknown message at the place of a missing number is the erased one.

Some clients send only their window, which an earlier nap has shortened. Distilled memories, above
all the digest, cover the whole session, so the stored messages are put before the list again.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from memd.base.clock import from_us
from memd.base.errors import InvalidError, NotFoundError
from memd.base.limits import NAP_MESSAGES_MAX, NAP_TRANSCRIPT_BYTES_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.ingest.draft import OWNERS
from memd.signals import files, transcripts
from memd.signals.transcripts import Transcript
from memd.signals.usage import UnreadableSignal
from memd.sleep.distil.exchanges import without_private
from memd.sleep.transcript.facts import HEADER
from memd.sleep.transcript.messages import Message, clean, text_to_store, to_stored
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.session import injections, session_messages, sessions
from memd.store.session.session_messages import MessageRow
from memd.store.session.sessions import SessionMemoryRow

ASKED = "asked"
"""The reason of a nap on request."""
# A tool call in a stored message: "[calls Bash] " and its arguments.
_CALL_MARK = re.compile(r"^\[calls ([^\]\n]+)\] ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NapRequest:
    """Which session to consolidate, where its messages come from, and why.

    *last*: take the facts of all messages, as no later nap will cover the others.
    *on_write* is called in the transaction with the time, for writes that must be atomic with the
    nap. *usage_file* is the file that triggered it.
    """

    messages: Sequence[Message] | None = None
    transcript_path: str | None = None
    transcript: Transcript | None = None
    """A transcript that was read already; like one at a path, it may have forgotten messages."""
    session_id: str | None = None
    reason: str = ASKED
    max_tokens: int | None = None
    last: bool = False
    on_write: Callable[[Writing, int], None] | None = None
    replaces_window: bool = False
    """Whether the caller replaces the session's own list by the shorter one."""
    usage_file: Path | None = None


class SessionContext(NamedTuple):
    """What memd knows about a session: hashes of its memories, earlier messages, injected texts."""

    known_hashes: frozenset[bytes] = frozenset()
    earlier: Sequence[Message] = ()
    """The messages before the list, oldest first."""
    injected: Sequence[str] = ()


NO_CONTEXT = SessionContext()


@dataclass(frozen=True, slots=True)
class NapSource:
    """The messages of a nap; *memory_keys* are the memories that they were read from, if any.

    The last message before them has place -1.
    """

    messages: Sequence[Message]
    session_id: str | None
    memory_keys: Sequence[int] = ()
    context: SessionContext = NO_CONTEXT
    stored_keys: Mapping[int, int] = field(default_factory=dict)
    """The source keys, by place, of the messages that were read from the store."""


class SessionHistory(NamedTuple):
    """The places of the stored messages by text hash and count, and how many were ever stored."""

    places: dict[tuple[bytes, int], int]
    message_count: int


NO_HISTORY = SessionHistory({}, 0)


@dataclass(frozen=True)
class SourceReader:
    """Reads the messages of naps; transcripts only below the folders *roots*."""

    db: Database
    work: Work
    roots: tuple[Path, ...] = ()

    async def read(self, caller: Caller, request: NapRequest, *, distils: bool) -> NapSource:
        """Return the messages of *request*, and with *distils* those before them in the session.

        Raises InvalidError for a transcript that cannot be read and a request without messages,
        transcript and session, NotFoundError for an unknown session.
        """
        agent_id, session_id = caller.agent_id, request.session_id or caller.session_id
        transcript = await self._read_transcript(request)
        if transcript is not None:
            session_id = session_id or transcript.session_id
        history, context = await self.db.read(_read_session, agent_id, session_id, distils=distils)
        if transcript is not None:
            newest = transcript.messages[-NAP_MESSAGES_MAX:]
            messages = await self.work.run(remove_erased, newest, history)
        elif request.messages is not None:
            messages = request.messages
        else:
            source = await self._read_stored(agent_id, session_id, distils=distils)
            return replace(source, context=context)
        source = NapSource(messages, session_id, context=context)
        return await self._add_earlier(agent_id, source, history) if distils else source

    async def _read_transcript(self, request: NapRequest) -> Transcript | None:
        if request.messages is not None:
            return None
        if request.transcript is None and request.transcript_path is not None:
            return await self.work.run(self._open_transcript, Path(request.transcript_path))
        return request.transcript

    def _open_transcript(self, path: Path) -> Transcript:
        try:
            raw = files.read_own(path, NAP_TRANSCRIPT_BYTES_MAX, self.roots, tail=True)
            return transcripts.read(raw)
        except UnreadableSignal as error:
            raise InvalidError(
                f"the transcript is not read: {error}",
                field="transcript_path",
                hint="send messages, or add its folder to the setting usage.transcript_roots",
            ) from None

    async def _read_stored(
        self, agent_id: str, session_id: str | None, *, distils: bool
    ) -> NapSource:
        """Return the last messages that are stored with the session, and the turns after them.

        At most NAP_MESSAGES_MAX. Without stored messages, or without *distils*, all turns.
        """
        if session_id is None:
            raise InvalidError(
                "say what to nap over", hint="give messages, a transcript_path or a session_id"
            )

        def work(conn: Reading) -> tuple[list[MessageRow], list[SessionMemoryRow]] | None:
            key = find_session(conn, agent_id, session_id)
            if key is None:
                return None
            rows = session_messages.list_last(conn, key, NAP_MESSAGES_MAX) if distils else []
            return rows, sessions.list_last_memories(conn, key, NAP_MESSAGES_MAX)

        stored = await self.db.read(work)
        if stored is None:
            raise NotFoundError(
                "no such session",
                field="session_id",
                hint="it told memd nothing yet: send messages or a transcript_path",
            )
        rows, turns = stored
        messages, keys = await self.work.run(rebuild_messages, rows)
        if keys:
            later = [_as_message(row) for row in later_turns(turns, rows)]
            newest = [*messages, *later][-NAP_MESSAGES_MAX:]
            start = len(messages) + len(later) - len(newest)
            stored_keys = dict(enumerate(keys[start:]))
            return NapSource(newest, session_id, stored_keys=stored_keys)
        memory_keys = [row.memory_key for row in turns]
        return NapSource([_as_message(row) for row in turns], session_id, memory_keys)

    async def _add_earlier(
        self, agent_id: str, source: NapSource, history: SessionHistory
    ) -> NapSource:
        """Return *source* with the stored messages of its session that precede the list."""
        room = NAP_MESSAGES_MAX - len(source.messages)
        if not history.places or room <= 0:
            return source
        count = await self.work.run(count_earlier, source.messages, history)
        if count <= 0:
            return source

        def work(conn: Reading) -> list[MessageRow]:
            key = find_session(conn, agent_id, source.session_id)
            return [] if key is None else session_messages.list_last(conn, key, room, count)

        rows = await self.db.read(work)
        earlier, keys = await self.work.run(rebuild_messages, rows)
        context = source.context._replace(earlier=earlier)
        stored_keys = {place - len(keys): key for place, key in enumerate(keys)}
        return replace(source, context=context, stored_keys=stored_keys)


def find_session(conn: Reading, agent_id: str, session_id: str | None) -> int | None:
    """Return the key of the agent's session, None for an unknown one."""
    return names.find_session(conn, names.find_agent(conn, agent_id), session_id)


def _read_session(
    conn: Reading, agent_id: str, session_id: str | None, *, distils: bool
) -> tuple[SessionHistory, SessionContext]:
    """Return what the store knows about the session; injected texts only with *distils*."""
    injected: Sequence[str] = ()
    if distils and session_id is not None:
        injected = injections.list_texts(conn, agent_id, session_id)
    key = find_session(conn, agent_id, session_id)
    if key is None:
        return NO_HISTORY, SessionContext(injected=injected)
    places = {mark: place for mark, (_, place) in session_messages.list_by_hash(conn, key).items()}
    history = SessionHistory(places, session_messages.count_ever_stored(conn, key))
    known_hashes = sessions.memory_hashes(conn, key, NAP_MESSAGES_MAX)
    return history, SessionContext(known_hashes, injected=injected)


def _as_message(row: SessionMemoryRow) -> Message:
    """Return a memory as the message that it was made of."""
    role = "assistant"
    if row.origin in {Origin.TOOL, Origin.WEB}:
        role = "tool"
    elif row.origin == Origin.PERSON and (row.speaker or "user").casefold() in OWNERS:
        role = "user"
    return {"role": role, "content": row.content, "timestamp": from_us(row.at_us).isoformat()}


def later_turns(
    turns: Sequence[SessionMemoryRow], rows: Sequence[MessageRow]
) -> list[SessionMemoryRow]:
    """Return the *turns* that were stored after all messages, in *rows*.

    The answer that came with the last messages may be stored after them.
    """
    last_us = max(row.kept_at_us for row in rows)
    texts = [" ".join((row.text or "").split()) for row in rows if row.kept_at_us == last_us]
    later = (row for row in turns if row.at_us > last_us)
    return [
        row for row in later if not any(" ".join(row.content.split()) in text for text in texts)
    ]


def remove_erased(given: Sequence[Message], history: SessionHistory) -> Sequence[Message]:
    """Return *given* without the messages that were forgotten since an earlier nap."""
    if history.message_count == len(history.places):
        return given
    stored = to_stored(_list_storable(given))
    marks = [None if message is None else (message.sha256, message.nth) for message in stored]
    erased = find_erased(marks, history)
    return [message for place, message in enumerate(given) if place not in erased]


def _list_storable(given: Sequence[Message]) -> list[Message]:
    """Return *given* without secrets, and without the content that no nap stores."""
    return without_private([clean(message) for message in given], forgets=True)


def find_erased(
    marks: Sequence[tuple[bytes, int] | None], history: SessionHistory
) -> frozenset[int]:
    """Return the indexes of the *marks* that were erased; None marks a message without text.

    >>> history = SessionHistory({(b"a", 0): 0, (b"c", 0): 2}, 3)
    >>> sorted(find_erased([(b"a", 0), (b"b", 0), (b"c", 0)], history))
    [1]
    """
    missing = sorted(set(range(history.message_count)) - set(history.places.values()))
    places = [None if mark is None else history.places.get(mark) for mark in marks]
    known_places = [place for place in places if place is not None]
    if not missing or (not known_places and len(missing) < history.message_count):
        return frozenset()  # nothing is missing, or the list's position in the session is unknown
    numbers: set[int] = set()
    for before, run, after in _unknown_runs(marks, places, history.message_count):
        # At most as many messages of a run were erased as numbers are missing at its place.
        room = bisect_left(missing, after) - bisect_right(missing, before)
        numbers.update(run[: max(0, room)])
    return frozenset(numbers)


def _unknown_runs(
    marks: Sequence[tuple[bytes, int] | None], places: Sequence[int | None], message_count: int
) -> list[tuple[int, list[int], int]]:
    """Return each run of unknown messages with the places before and after it.

    The last run comes after the highest place, as new messages are at the end.
    """
    runs: list[tuple[int, list[int], int]] = []
    before, run = -1, list[int]()
    for index, place in enumerate(places):
        if place is None:
            if marks[index] is not None:
                run.append(index)
            continue
        if run:
            runs.append((before, run, place))
            run = []
        before = place
    highest = max((place for place in places if place is not None), default=-1)
    return [*runs, (highest, run, message_count)]


def count_earlier(given: Sequence[Message], history: SessionHistory) -> int:
    """Return how many of the session's messages precede *given*.

    The list is located by its first message that occurs exactly once in the session, without
    summaries of earlier naps. If there is none, all stored messages precede it.
    """
    offset = 0
    for message in _list_storable(given):
        text = text_to_store(message)
        if not text.strip() or text.startswith(HEADER):
            continue
        sha256 = hashlib.sha256(text.encode()).digest()
        place = history.places.get((sha256, 0))
        if place is not None and (sha256, 1) not in history.places:
            return max(0, place - offset)
        offset += 1
    return history.message_count


def rebuild_messages(rows: Sequence[MessageRow]) -> tuple[tuple[Message, ...], list[int]]:
    """Turn stored messages back into messages, whose calls have no ids.

    Returns their source keys as well. Damaged ones are left out.
    """
    rows = [row for row in rows if row.text is not None]
    return tuple(map(_rebuild_message, rows)), [row.source_key for row in rows]


def _rebuild_message(row: MessageRow) -> Message:
    """Return the message of *row*, with its tool calls parsed from the text."""
    text = row.text or ""
    message: Message = {"role": row.role, "content": text}
    first = _CALL_MARK.search(text) if row.role == "assistant" else None
    if first is not None:
        message["content"] = text[: first.start()].rstrip("\n")
        message["tool_calls"] = _parse_calls(text[first.start() :])
    if row.said_at_us is not None:
        message["timestamp"] = from_us(row.said_at_us).isoformat()
    return message


def _parse_calls(text: str) -> list[dict[str, Any]]:
    """Return the tool calls in *text*, each a "[calls NAME] " with the arguments up to the next."""
    marks = list(_CALL_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        {"function": {"name": mark[1], "arguments": text[mark.end() : end].rstrip("\n")}}
        for mark, end in zip(marks, ends, strict=True)
    ]
