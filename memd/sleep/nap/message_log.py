"""Add messages to a session as they come, for its later naps (``session.add_messages``).

For assistants without a transcript that memd can read. Their messages are stored as naps store
them, without secrets, so that no text is stored twice and ``forget`` erases them, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memd.base.clock import Clock
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel
from memd.sleep.distil.exchanges import result_text
from memd.sleep.nap.transaction import past_us
from memd.sleep.transcript.blocks import TOOL_ROLE, parse_turn
from memd.sleep.transcript.messages import Message, StoredMessage, clean, to_stored
from memd.sleep.transcript.roles import with_known_role
from memd.store.access import agents, names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import sources
from memd.store.session import session_messages
from memd.store.session.session_messages import NewMessage


@dataclass(frozen=True)
class MessageLog:
    """Adds messages to sessions; *level* is that of agents without one of their own."""

    db: Database
    work: Work
    clock: Clock
    level: MemoryLevel

    async def add(self, caller: Caller, session_id: str, messages: Sequence[Message]) -> int:
        """Append those of *messages* that the session lacks; return their number after COMMIT.

        A message is known by its text and timestamp, so a list may repeat earlier messages. A text
        that was forgotten is not stored again. Raises MemoryStoreError for an agent that stores
        nothing, BusyError, ReadOnlyError, DiskFullError.
        """
        stored = await self.work.run(_prepare, messages)

        def work(conn: Writing) -> int:
            now_us = self.clock.now_us()
            agents.require_level(conn, caller.agent_id, self.level)
            agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
            session_key = names.ensure_session(
                conn,
                session_id,
                agent_key=agent_key,
                client_key=names.ensure_client(conn, caller.client, now_us),
                project_key=names.ensure_project(conn, caller.project_id, now_us),
                now_us=now_us,
            )
            assert session_key is not None
            rows = [
                NewMessage(
                    sources.put(conn, agent_key, session_key, each.sha256, each.zlib, now_us),
                    each.nth,
                    each.role,
                    past_us(each.said_at, now_us),
                )
                for each in _new(stored, session_messages.list_times(conn, session_key), now_us)
                if not sources.is_forgotten(conn, agent_key, each.sha256)
            ]
            session_messages.add(conn, session_key, rows)
            names.count_session(conn, session_key, 0, 0, now_us)
            return len(rows)

        return await self.db.write(caller, work)


def _prepare(messages: Sequence[Message]) -> list[StoredMessage]:
    """Return the stored forms of *messages*, of those that have text."""
    lines = (line for message in messages for line in _split_results(with_known_role(message)))
    return [each for each in to_stored([clean(line) for line in lines]) if each is not None]


def _split_results(message: Message) -> Iterator[Message]:
    """Yield *message*, and each result of a tool in it as a message that tells its outcome.

    Of a stored message there is only the text.
    """
    turn = parse_turn(message)
    for result in turn.results:
        yield {**message, "role": TOOL_ROLE, "content": result_text(result)}
    if not turn.results:
        yield message
    elif turn.text:
        yield {**message, "content": turn.text}


def _new(
    given: Sequence[StoredMessage], known: Sequence[session_messages.TextAtTime], now_us: int
) -> Iterator[StoredMessage]:
    """Yield the messages that are not *known*, with the next free ``nth`` of their text."""
    counts: Mapping[tuple[bytes, int | None], int] = {
        (each.sha256, each.said_at_us): each.number for each in known
    }
    free: dict[bytes, int] = {}
    for each in known:
        free[each.sha256] = max(free.get(each.sha256, 0), each.nth_max + 1)
    seen: Counter[tuple[bytes, int | None]] = Counter()
    for message in given:
        mark = (message.sha256, past_us(message.said_at, now_us))
        seen[mark] += 1
        if seen[mark] > counts.get(mark, 0):
            nth = free.get(message.sha256, 0)
            free[message.sha256] = nth + 1
            yield message._replace(nth=nth)
