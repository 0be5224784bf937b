"""A session that was recorded before memd was there, or elsewhere: napped over as an ended one.

It is filed under its own id, project and times. The same transcript again adds nothing, a
longer one what is new in it, and what was forgotten of it since is not learnt again. The
same one within REPLY_KEPT_DAYS is not even distilled again: an import of thousands that was
interrupted is simply run once more.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memd.base.errors import InvalidError
from memd.base.limits import NAME_CHARS_MAX, PROJECT_CHARS_MAX
from memd.domain.caller import Caller
from memd.domain.sleep.sleep import ImportedSession
from memd.guard.outgoing import outgoing
from memd.signals import transcripts
from memd.signals.usage import UnreadableSignal
from memd.sleep.nap.nap import Nap
from memd.sleep.nap.transaction import NapOutcome, NapRequest
from memd.sleep.window.trigger import METHOD, Reason, project_of
from memd.store.access import names, replies
from memd.store.file.connect import Reading
from memd.store.session import sessions

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Recorded:
    """Takes recorded sessions in."""

    nap: Nap
    sessions: Sessions

    async def take(
        self,
        caller: Caller,
        raw: bytes,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        dry_run: bool = False,
    ) -> ImportedSession:
        """Nap over the transcript *raw*; with *dry_run* only count what that would make.

        *session_id* and *cwd* count where it does not tell them. A session that memd did not
        know has ended with it. Raises InvalidError for what is no transcript, and what
        ``Nap.nap`` raises.
        """
        try:
            read = await self.nap.work.run(transcripts.read, raw)
        except UnreadableSignal:
            raise InvalidError(
                "not a transcript that memd knows", hint=transcripts.KNOWN, field="text"
            ) from None
        session_id = _name(read.session_id) or session_id
        if session_id is None:
            raise InvalidError("the transcript does not name its session", field="session_id")
        project_id = caller.project_id or _project(_place(read.cwd or cwd))
        session = ImportedSession(
            taken=len(raw),
            format=read.format,
            session_id=session_id,
            project_id=project_id,
            messages=len(read.messages),
        )
        if not read.messages:
            return session
        by = replace(caller, session_id=session_id, project_id=project_id, method=METHOD)
        request = NapRequest(
            transcript=read, session_id=session_id, reason=Reason.ENDED.value, last=True
        )
        if dry_run:
            new, kept = await self.nap.preview(by, request)
            return session.model_copy(update={"new": new, "kept": kept})
        once = _once(by, raw)
        reply = await self.nap.db.read(replies.find, once)
        if reply is not None:
            before = NapOutcome.model_validate_json(reply)
            return session.model_copy(update={"kept": before.stored + before.merged})
        was_there = await self.nap.db.read(_is_known, caller.agent_id, session_id)
        made = await self.nap.nap(once, request)
        if not was_there:
            await self.sessions.end(by, session_id)
        return session.model_copy(
            update={"new": made.stored, "kept": made.merged, "quarantined": made.quarantined}
        )


def _once(by: Caller, raw: bytes) -> Caller:
    """Return *by* with what makes the same transcript of the same session the same request."""
    digest = hashlib.sha256(raw).digest()
    key = f"session.import:{by.agent_id}:{by.session_id}:{by.project_id}:{digest.hex()}"
    return replace(by, idempotency_key=key, request_hash=digest)


def _name(name: str | None) -> str | None:
    """Return the session's name as it may be stored, None when it is no name."""
    if name is None or len(name) > NAME_CHARS_MAX or not name.isprintable():
        return None
    return outgoing(name)


def _place(cwd: str | None) -> str | None:
    return None if cwd is None else outgoing(cwd)


def _project(cwd: str | None) -> str | None:
    """Return the project's id; a folder that is no more may have been one, and names itself."""
    if cwd is None or not cwd.startswith("/") or "\0" in cwd:
        return None
    if (project_id := project_of(cwd)) is not None:
        return project_id
    return cwd if len(cwd) <= PROJECT_CHARS_MAX and not Path(cwd).exists() else None


def _is_known(conn: Reading, agent_id: str, session_id: str) -> bool:
    agent_key = names.find_agent(conn, agent_id)
    return agent_key is not None and sessions.find_key(conn, agent_key, session_id) is not None
