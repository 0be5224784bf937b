"""Nap over sessions that no report of a window triggers: recorded and quiet ones.

A recorded session is imported by a nap, as if it had just ended, with its own id, project and
times. Importing the same transcript again adds nothing, and a longer one adds what is new. Memories
that were forgotten since are not made again. Within REPLY_KEPT_DAYS a known transcript is not even
distilled again, so an interrupted import of thousands can be repeated.

Most sessions end with an event, but not when a terminal is closed. A session that was quiet for an
hour gets a nap, over its transcript if there is one. It stays open, and the next nap replaces the
memories of this one.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import CallerError, InvalidError, MemdError
from memd.base.limits import NAME_CHARS_MAX, PROJECT_CHARS_MAX
from memd.base.project import project_of
from memd.domain.caller import LOCAL, Caller
from memd.domain.sleep.sleep import ImportedSession
from memd.guard.redaction import redact
from memd.signals.usage import UnreadableSignal
from memd.sleep.window.trigger import METHOD, Reason
from memd.store.access import names, replies
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import slots, windows
from memd.store.session.windows import Key, WindowRow

if TYPE_CHECKING:  # loaded with the first of these sessions
    from memd.ingest.sessions import Sessions
    from memd.sleep.nap.nap import Nap
    from memd.sleep.nap.source import NapRequest

QUIET_US = 3_600_000_000  # an hour
CHECK_INTERVAL_S = 60.0
NAPS_PER_CHECK = 4
"""The most naps per check; after a month without memd there are many quiet sessions."""


@dataclass(frozen=True, slots=True)
class SessionImporter:
    """Imports recorded sessions."""

    nap: Nap
    sessions: Sessions

    async def import_session(
        self,
        caller: Caller,
        raw: bytes,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        said_at: datetime | None = None,
        dry_run: bool = False,
    ) -> ImportedSession:
        """Nap over the transcript *raw*; with *dry_run* only count the memories it would make.

        *session_id*, *cwd* and *said_at* are used if the transcript lacks them. A session that memd
        did not know is ended too. Raises InvalidError if *raw* is no transcript or names no
        session, and what ``Nap.nap`` raises.
        """
        from memd.signals import transcripts
        from memd.sleep.nap.source import NapRequest
        from memd.sleep.transcript.messages import date_undated, timestamp_of

        try:
            transcript = await self.nap.work.run(transcripts.read, raw)
        except UnreadableSignal:
            raise InvalidError(
                "not a transcript that memd knows", hint=transcripts.KNOWN, field="text"
            ) from None
        session_id = _storable_name(transcript.session_id) or session_id
        if session_id is None:
            raise InvalidError(
                "the transcript does not name its session",
                field="session_id",
                hint="pass session_id: any id by which you know the session",
            )
        project_id = caller.project_id or _project_id(_screen_dir(transcript.cwd or cwd))
        session = ImportedSession(
            taken=len(raw),
            format=transcript.format,
            session_id=session_id,
            project_id=project_id,
            messages=len(transcript.messages),
        )
        if not transcript.messages:
            return session
        dated = replace(transcript, messages=date_undated(transcript.messages, said_at))
        times = (moment for message in dated.messages if (moment := timestamp_of(message)))
        session = session.model_copy(update={"started_at": next(times, None)})
        caller = replace(caller, session_id=session_id, project_id=project_id, method=METHOD)
        request = NapRequest(
            transcript=dated, session_id=session_id, reason=Reason.ENDED.value, last=True
        )
        if dry_run:
            new, known = await self.nap.preview(caller, request)
            return await self._count(session, caller, new=new, kept=known)
        return await self._nap(session, caller, request, raw)

    async def _nap(
        self, session: ImportedSession, caller: Caller, request: NapRequest, raw: bytes
    ) -> ImportedSession:
        """Nap over *session*; if the same *raw* was imported before, only count its memories."""
        from memd.sleep.nap.transaction import NapOutcome

        keyed_caller = _with_idempotency_key(caller, raw)
        reply = await self.nap.db.read(replies.find, keyed_caller)
        if reply is not None:
            outcome = NapOutcome.model_validate_json(reply)
            left = await self.nap.db.read(
                slots.count_present, caller.agent_id, caller.session_id or ""
            )
            stored = min(outcome.stored, left)
            counted = await self._count(session, caller, kept=outcome.merged + stored)
            forgotten = max(0, outcome.stored - stored - counted.trashed)
            return counted.model_copy(update={"forgotten": forgotten})
        is_known = await self.nap.db.read(_is_known, caller.agent_id, caller.session_id or "")
        result = await self.nap.nap(keyed_caller, request)
        if not is_known:
            await self.sessions.end(caller, caller.session_id or "")
        counts = {"new": result.stored, "kept": result.merged, "quarantined": result.quarantined}
        return await self._count(session, caller, **counts)

    async def _count(
        self, session: ImportedSession, caller: Caller, **counts: int
    ) -> ImportedSession:
        """Return *session* with *counts*, and the number of its memories in the trash."""
        session_id = session.session_id or ""
        trashed = await self.nap.db.read(slots.count_trashed, caller.agent_id, session_id)
        return session.model_copy(update={**counts, "trashed": trashed})


def _with_idempotency_key(caller: Caller, raw: bytes) -> Caller:
    """Return the caller with an idempotency key made from the transcript *raw* and its session."""
    digest = hashlib.sha256(raw).digest()
    key = f"session.import:{caller.agent_id}:{caller.session_id}:{caller.project_id}:{digest.hex()}"
    return replace(caller, idempotency_key=key, request_hash=digest)


def _storable_name(name: str | None) -> str | None:
    """Return the session id *name* without secrets, None if it cannot be stored."""
    if name is None or len(name) > NAME_CHARS_MAX or not name.isprintable():
        return None
    return redact(name)


def _screen_dir(cwd: str | None) -> str | None:
    return None if cwd is None else redact(cwd)


def _project_id(cwd: str | None) -> str | None:
    """Return the project of the folder *cwd*; for a folder that no longer exists, its path."""
    if cwd is None or not cwd.startswith("/") or "\0" in cwd:
        return None
    if (project_id := project_of(cwd)) is not None:
        return project_id
    return cwd if len(cwd) <= PROJECT_CHARS_MAX and not Path(cwd).exists() else None


def _is_known(conn: Reading, agent_id: str, session_id: str) -> bool:
    agent_key = names.agent_key(conn, agent_id)
    return names.find_session(conn, agent_key, session_id) is not None


@dataclass(frozen=True)
class QuietSessions:
    """Naps over quiet sessions."""

    db: Database
    clock: Clock
    nap: Nap
    failed: set[Key] = field(default_factory=set)
    """Sessions whose nap failed; they are tried again when no other waits."""

    async def run(self) -> None:
        """Check once a minute, for ever."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            try:
                await self.nap_over_quiet()
            except MemdError as error:
                log.warning("a quiet session waits", kind=error.kind)

    async def nap_over_quiet(self) -> int:
        """Nap over sessions that fell quiet since their last nap; return their number.

        An error concerns one session only. After an error of disk or model it is tried again when
        no other session waits; after a bug, only when the session has gone on.
        """
        before_us = self.clock.now_us() - QUIET_US
        limit = NAPS_PER_CHECK + len(self.failed)
        quiet = await self.db.read(windows.list_quiet, before_us, limit)
        rows = [row for row in quiet if row.key not in self.failed]
        if not rows:
            self.failed.clear()
            rows = quiet
        rows = rows[:NAPS_PER_CHECK]
        for row in rows:
            try:
                await self._nap_over(row)
            except MemdError as error:
                self.failed.add(row.key)
                log.warning("a quiet session waits", kind=error.kind)
            except Exception as error:  # noqa: BLE001  # a bug in one nap must not end the daemon
                log.error("a nap over a quiet session failed", trace=log.trace_of(error))
                await self._set_napped(row)
        return len(rows)

    async def _nap_over(self, row: WindowRow) -> None:
        from memd.sleep.nap.source import NapRequest

        caller = _caller(row)
        request = NapRequest(
            transcript_path=row.transcript_path,
            session_id=row.session_id,
            reason=Reason.QUIET.value,
            last=True,
            on_write=lambda conn, now_us: windows.set_napped(conn, row, now_us),
        )
        try:
            try:
                await self.nap.nap(caller, request)
            except InvalidError:  # no readable transcript: use the session's memories
                await self.nap.nap(caller, replace(request, transcript_path=None))
        except CallerError as error:  # for example an empty session
            log.debug("no nap over a quiet session", kind=error.kind)
            await self._set_napped(row)

    async def _set_napped(self, row: WindowRow) -> None:
        now_us = self.clock.now_us()
        await self.db.write(_caller(row), lambda conn: windows.set_napped(conn, row, now_us))


def _caller(row: WindowRow) -> Caller:
    """Return the caller of naps over the session of *row*."""
    return Caller(
        client=LOCAL,
        agent_id=row.agent_id,
        session_id=row.session_id,
        project_id=project_of(row.cwd),
        method=METHOD,
    )
