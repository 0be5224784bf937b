"""Sessions, windows and naps that remember what they were told, and do nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memd.base.errors import NotFoundError
from memd.domain.caller import Caller
from memd.domain.ingest import Session, SessionHit, SessionMessage, SessionQuery
from memd.domain.sleep.sleep import ImportedSession, NapDetail, NapResult, Window
from memd.signals.usage import Usage
from memd.sleep.nap.consolidator import MemoryConsolidator

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class FakeSessions:
    known: dict[str, Session] = field(default_factory=dict)

    async def start(self, caller: Caller, session_id: str | None = None) -> Session:
        made = Session(
            session_id=session_id or f"s{len(self.known)}",
            agent_id=caller.agent_id,
            started_at=NOON,
            last_activity_at=NOON,
            memories=0,
            tokens=0,
            messages=0,
        )
        return self.known.setdefault(made.session_id, made)

    async def end(self, caller: Caller, session_id: str) -> Session:
        del caller
        if session_id not in self.known:
            raise NotFoundError("no such session", field="session_id")
        ended = self.known[session_id].model_copy(update={"ended_at": NOON})
        self.known[session_id] = ended
        return ended

    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Session, ...], str | None]:
        del caller, after
        return tuple(self.known.values())[:limit], None

    async def messages(
        self, caller: Caller, session_id: str, after: int | None, limit: int
    ) -> tuple[tuple[SessionMessage, ...], int | None]:
        del caller, session_id, after, limit
        said = SessionMessage(ordinal=0, role="user", text="a", kept_at=NOON)
        return (said,), None

    async def search(self, caller: Caller, wanted: SessionQuery) -> tuple[SessionHit, ...]:
        del caller
        hit = SessionHit(session_id="s", ordinal=0, role="user", at=NOON, snippet=wanted.query)
        return (hit,)


@dataclass
class FakeUsage:
    windows: dict[str, Window] = field(default_factory=dict)

    async def report(
        self,
        caller: Caller,
        usage: Usage,
        messages: Sequence[dict[str, Any]] | None = None,
        *,
        returns: bool = False,
    ) -> Window:
        del messages, returns
        assert usage.source
        assert usage.session_id
        window = Window(
            source=usage.source,
            session_id=usage.session_id,
            agent_id=caller.agent_id,
            used_tokens=usage.used_tokens,
            seen_at=NOON,
        )
        self.windows[usage.session_id] = window
        return window

    async def list(self, caller: Caller) -> tuple[Window, ...]:
        del caller
        return tuple(self.windows.values())

    def unreadable(self) -> tuple[int, str | None]:
        return 0, None


@dataclass
class FakeNaps(FakeUsage):
    rule: MemoryConsolidator = field(default_factory=MemoryConsolidator)
    imported: list[bytes] = field(default_factory=list)

    def works(self) -> dict[str, Any]:
        return {"queues": {}, "works": {}, "notes_dropped": 0}

    async def import_session(
        self,
        caller: Caller,
        raw: bytes,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        dry_run: bool = False,
    ) -> ImportedSession:
        del caller, cwd, dry_run
        self.imported.append(raw)
        return ImportedSession(taken=len(raw.decode()), session_id=session_id)

    async def consolidate(
        self,
        caller: Caller,
        *,
        messages: Sequence[dict[str, Any]] | None = None,
        transcript_path: str | None = None,
        max_tokens: int | None = None,
    ) -> NapResult:
        del transcript_path, max_tokens
        given = messages or ()
        return NapResult(
            run_id="run",
            session_id=caller.session_id,
            messages=tuple(given),
            summary_text="",
            stored=0,
            merged=0,
            detail=NapDetail(
                messages_before=len(given),
                messages_after=len(given),
                messages_removed=0,
                facts=0,
                summary_chars=0,
                tokens_before=0,
                tokens_after=0,
            ),
        )
