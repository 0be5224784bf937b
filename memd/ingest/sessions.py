"""Start, end, list and search sessions (SPEC 1.8, D2, D21).

A session ends by a call, or after six hours without activity. Then its memories of level session,
and working memories that were stored as such, go to the trash; working texts that arrived by
``ingest`` become episodic. This takes several small transactions, and the last one marks the
session as ended. After a kill in between, ending it again does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memd.base.clock import DAY_US, Clock, from_us, to_us
from memd.base.errors import InvalidError, NotFoundError, cursor_error
from memd.base.ids import Ids
from memd.base.limits import QUERY_TERMS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import TrashReason
from memd.domain.ingest import MovedProject, Session, SessionHit, SessionMessage, SessionQuery
from memd.domain.occurrence import Note, Occurrence, ignore_occurrence
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import removal, versions
from memd.store.search.cjk_bigrams import split_signs
from memd.store.session import (
    message_index,
    projects,
    session_messages,
    sessions,
    windows,
)
from memd.store.session.session_messages import MessageRow
from memd.store.session.sessions import SessionRow
from memd.text.words import content_words

STEP_ROWS = 64  # memories in one transaction of an end
IDLE_SESSIONS = 16  # ended by one call of end_idle, which runs once a minute
DROP_STEP_MESSAGES = 16  # in one transaction of about 55 ms; each word leaves the index by itself
DROP_MESSAGES_MAX = 1_024  # dropped by one call of drop_old


@dataclass(frozen=True)
class Sessions:
    """Starts, ends, lists and searches sessions."""

    db: Database
    clock: Clock
    ids: Ids
    work: Work
    undo_days: int
    text_days: int = 0
    """Idle days after which a session's messages are dropped; 0 keeps them for ever."""
    note: Note = ignore_occurrence
    """Called when a session starts, resumes or ends by a call."""

    async def start(self, caller: Caller, session_id: str | None = None) -> Session:
        """Start a session, or resume the one with this id; without an id it gets a new one."""
        name = session_id or self.ids.new()
        events: list[str] = []  # stays empty for a repeated request

        def work(conn: Writing) -> str:
            now_us = self.clock.now_us()
            agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
            project_key = names.ensure_project(conn, caller.project_id, now_us)
            known = names.find_session(conn, agent_key, name) is not None
            events.append("session_resumed" if known else "session_started")
            key = names.ensure_session(
                conn,
                name,
                agent_key=agent_key,
                client_key=names.ensure_client(conn, caller.client, now_us),
                project_key=project_key,
                now_us=now_us,
            )
            assert key is not None
            sessions.reopen(conn, key, now_us, project_key)
            return name

        session_name = await self.db.write(caller, work, reply=str)
        for event in events[-1:]:
            self._note(caller, session_name, event)
        return await self._read(caller, session_name)

    async def end(self, caller: Caller, session_id: str) -> Session:
        """End a session; raises NotFoundError for an unknown one."""
        key = await self.db.read(_key, caller.agent_id, session_id)
        if key is None:
            raise _not_found()
        await self._end(caller, key)
        self._note(caller, session_id, "session_ended")
        return await self._read(caller, session_id)

    def _note(self, caller: Caller, session_id: str, event: str) -> None:
        details = {"session_id": session_id, "client": caller.client}
        at_us = self.clock.now_us()
        self.note(Occurrence(self.ids.new(), caller.agent_id, event, at_us, details))

    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Session, ...], str | None]:
        """Return a page of the agent's sessions, newest first, and the next page's cursor.

        Raises InvalidError for a cursor that is no session of the agent.
        """

        def work(conn: Reading) -> list[SessionRow]:
            agent_key = names.find_agent(conn, caller.agent_id)
            before = names.find_session(conn, agent_key, after)
            if after is not None and before is None:
                raise cursor_error()
            return sessions.list_page(conn, agent_key, before, limit + 1)

        rows = await self.db.read(work)
        items = tuple(map(_to_session, rows[:limit]))
        return items, items[-1].session_id if len(rows) > limit else None

    async def projects(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[str, ...], str | None]:
        """Return a page of the agent's projects, by id, and the next page's cursor."""
        items = tuple(await self.db.read(projects.list_page, caller.agent_id, after, limit + 1))
        return items[:limit], items[limit - 1] if len(items) > limit else None

    async def move_project(
        self, caller: Caller, project_id: str | None, new_id: str | None
    ) -> MovedProject:
        """Move the agent's sessions and memories of a project to the project *new_id*.

        This is for a folder that was moved or renamed; *new_id* may have sessions and memories
        already. None means no project; memories of level project are not moved there. Raises
        NotFoundError if the agent has nothing to move, InvalidError if both ids are the same.
        """
        if project_id == new_id:
            raise InvalidError("that is the same project", field="new_project_id")

        def work(conn: Writing) -> MovedProject:
            now_us = self.clock.now_us()
            agent_key = names.agent_key(conn, caller.agent_id)
            old_key = names.find_project(conn, project_id) or 0 if project_id else None
            new_key = names.ensure_project(conn, new_id, now_us)
            moved = projects.move(conn, agent_key, old_key, new_key)
            if not any(moved):
                raise NotFoundError("no session or memory is of that project", field="project_id")
            if project_id and new_id and project_id.startswith("/") and new_id.startswith("/"):
                windows.move_folder(conn, agent_key, project_id, new_id)
            return MovedProject(sessions=moved.sessions, memories=moved.memories)

        return await self.db.write(caller, work, reply=MovedProject)

    async def messages(
        self, caller: Caller, session_id: str, after: int | None, limit: int
    ) -> tuple[tuple[SessionMessage, ...], int | None]:
        """Return a page of a session's messages in order, and the next page's cursor.

        Raises NotFoundError for an unknown session.
        """
        key = await self.db.read(_key, caller.agent_id, session_id)
        if key is None:
            raise _not_found()
        start = -1 if after is None else after
        rows = await self.db.read(session_messages.list_page, key, start, limit + 1)
        items = await self.work.run(_to_messages, rows[:limit])
        return items, items[-1].ordinal if len(rows) > limit else None

    async def search(self, caller: Caller, query: SessionQuery) -> tuple[SessionHit, ...]:
        """Return the agent's messages that contain all terms, or else any; best first, then newest.

        A text that occurs several times is returned once, at its last occurrence.
        """
        if not content_words(query.query):
            return ()
        return await self.db.read(_search, caller.agent_id, query)

    async def has_messages(self, caller: Caller) -> bool:
        """Return whether the agent has any searchable message."""

        def work(conn: Reading) -> bool:
            return session_messages.has_messages(conn, names.agent_key(conn, caller.agent_id))

        return await self.db.read(work)

    async def recent(
        self, caller: Caller, session_id: str, limit: int
    ) -> tuple[SessionMessage, ...]:
        """Return the last *limit* stored messages of a session; none if it is unknown."""

        def work(conn: Reading) -> list[MessageRow]:
            key = _key(conn, caller.agent_id, session_id)
            return [] if key is None else session_messages.list_last(conn, key, limit)

        return await self.work.run(_to_messages, await self.db.read(work))

    async def end_idle(self) -> int:
        """End up to IDLE_SESSIONS idle sessions; return their number."""
        rows = await self.db.read(sessions.list_idle, self.clock.now_us(), IDLE_SESSIONS)
        for key, agent_id in rows:
            await self._end(_CALLER.acting_for(agent_id), key, only_idle=True)
        return len(rows)

    async def drop_old(self) -> int:
        """Drop messages of sessions past their retention period; return the number of messages.

        One call drops about DROP_MESSAGES_MAX, in small transactions. Memories are kept.
        """
        dropped = 0
        while self.text_days and dropped < DROP_MESSAGES_MAX:
            before_us = self.db.lasting.now_us() - self.text_days * DAY_US

            def step(conn: Writing, before_us: int = before_us) -> int:
                return session_messages.delete_old(conn, before_us, DROP_STEP_MESSAGES)

            count = await self.db.write(_DROP_CALLER, step)
            if not count:
                break
            dropped += count
        return dropped

    async def _end(self, caller: Caller, key: int, *, only_idle: bool = False) -> None:
        def step(conn: Writing) -> bool:
            if only_idle and not sessions.is_idle(conn, key, self.clock.now_us()):
                return True  # it continues since it was read
            return self._step(conn, key)

        # Without the idempotency key: the first step would store its reply, and skip the others.
        unkeyed_caller = replace(caller, idempotency_key=None)
        while not await self.db.write(unkeyed_caller, step):
            pass

    def _step(self, conn: Writing, key: int) -> bool:
        """Do the next step of ending a session; return whether it has ended."""
        now_us = self.clock.now_us()
        ending = sessions.list_ending(conn, key, STEP_ROWS)
        removal.trash(conn, ending, TrashReason.SESSION_END, now_us, self.undo_days * DAY_US)
        working = sessions.list_working(conn, key, STEP_ROWS - len(ending))
        changes = [versions.make_episodic(conn, memory_key, now_us) for memory_key in working]
        # A full step without any change has only damaged rows, which would be listed for ever.
        if len(ending) + len(working) == STEP_ROWS and (ending or any(changes)):
            return False
        sessions.end(conn, key, now_us)
        return True

    async def _read(self, caller: Caller, session_id: str) -> Session:
        def work(conn: Reading) -> SessionRow | None:
            agent_key = names.find_agent(conn, caller.agent_id)
            return sessions.find(conn, agent_key, session_id)

        row = await self.db.read(work)
        if row is None:
            raise _not_found()
        return _to_session(row)


_CALLER = Caller(client="memd", method="session.end")
_DROP_CALLER = Caller(client="memd", method="purge")


def _key(conn: Reading, agent_id: str, session_id: str) -> int | None:
    return names.find_session(conn, names.find_agent(conn, agent_id), session_id)


def _search(conn: Reading, agent_id: str, query: SessionQuery) -> tuple[SessionHit, ...]:
    """Return the messages with all words of the query, or else with any.

    Chinese, Japanese and similar text is then split into pairs of signs (``split_signs``).
    """
    agent_key = names.agent_key(conn, agent_id)
    limits = (
        query.session_id,
        query.project_id,
        to_us(query.since),
        to_us(query.until),
    )
    for text, all_terms in ((query.query, True), (split_signs(query.query), False)):
        terms = content_words(text)[:QUERY_TERMS_MAX]
        match = message_index.match_query(terms, agent_key, all_terms=all_terms)
        message_filter = message_index.MessageFilter(agent_key, match, *limits)
        rows = message_index.search(conn, message_filter, query.limit)
        if rows:
            return tuple(map(_to_match, rows))
    return ()


def _to_match(row: message_index.MessageMatch) -> SessionHit:
    return SessionHit(
        session_id=row.session_id,
        project_id=row.project_id,
        ordinal=row.ordinal,
        role=row.role,
        at=from_us(row.at_us),
        snippet=row.snippet,
    )


def _not_found() -> NotFoundError:
    return NotFoundError("no such session", field="session_id")


def _to_session(row: SessionRow) -> Session:
    return Session(
        session_id=row.session_id,
        agent_id=row.agent_id,
        project_id=row.project_id,
        started_at=from_us(row.started_at_us),
        last_activity_at=from_us(row.last_activity_us),
        ended_at=from_us(row.ended_at_us),
        memories=row.memory_count,
        tokens=row.token_count,
        messages=row.messages,
        compressed=bool(row.compressed),
    )


def _to_messages(rows: Sequence[MessageRow]) -> tuple[SessionMessage, ...]:
    return tuple(
        SessionMessage(
            ordinal=row.ordinal,
            role=row.role,
            text=row.text or "",
            damaged=row.text is None,
            said_at=from_us(row.said_at_us),
            kept_at=from_us(row.kept_at_us),
        )
        for row in rows
    )
