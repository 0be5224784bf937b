"""A nap: one session's messages are kept, what matters becomes memories, its list becomes short.

In order: the messages, from the caller, from the assistant's transcript or from
what the session told memd; secrets out; the pure part in the work thread
(``preparation``); one transaction with the messages, the memories, the record of
the run and the audit; then vectors are called for, the shorter list is laid
beside the usage file, and who listens is told. A kill leaves all of it or
nothing, and the same nap again stores nothing new.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import (
    CallerError,
    InvalidError,
    MemdError,
    MemoryStoreError,
    NotFoundError,
)
from memd.base.ids import Ids
from memd.base.limits import NAP_MESSAGES_MAX, NAP_TRANSCRIPT_BYTES_MAX
from memd.base.work import Work
from memd.domain.caller import ERASURES_SEEN, Caller
from memd.domain.encoding import ChunkingConfig, TokenCounter
from memd.domain.enums import MemoryLevel, Origin, RunKind
from memd.domain.occurrence import Note, Occurrence, unnoted
from memd.domain.sleep.sleep import NapDetail, NapResult
from memd.domain.values import RESERVED_AGENT, Emit, EventName, unheard
from memd.ingest.draft import OWNERS
from memd.ingest.queue import EmbeddingQueue
from memd.signals import files, transcripts
from memd.signals.usage import CONSOLIDATED_SUFFIX, UnreadableSignal
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.consolidator import MENTION_SHARE, MemoryConsolidator
from memd.sleep.nap.drafting import known_as
from memd.sleep.nap.earlier import NONE, Earlier, as_messages, start_of
from memd.sleep.nap.erased import NEW, History
from memd.sleep.nap.keeping import ASKED, Keeping, NapMessages, NapOutcome, NapRequest
from memd.sleep.nap.preparation import Before, Prepared, Sifted, drafted, remembered, sifted
from memd.sleep.window.trigger import METHOD, Reason
from memd.store.access import agents, names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import injections, sessions, slots, turns
from memd.store.session.sessions import SessionMemoryRow
from memd.store.session.turns import EarlierRow

if TYPE_CHECKING:
    from memd.sleep.model.nap_writer import NapWriter

_REHEARSAL: tuple[Message, ...] = (
    {"role": "user", "content": "You must always run the tests in src/parser/lexer.py:12."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "ls", "input": {}}]},
    {"role": "tool", "tool_call_id": "1", "content": "src/parser/lexer.py\nsrc/parser/tree.py"},
    *({"role": "assistant", "content": "The cause is a KeyError in Lexer.next_token."},) * 4,
)


@dataclass(frozen=True)
class Nap:
    """The room's needs, handed in by the daemon."""

    db: Database
    ids: Ids
    clock: Clock
    work: Work
    counter: TokenCounter
    queue: EmbeddingQueue
    level: MemoryLevel
    chunking: ChunkingConfig
    rule: MemoryConsolidator
    """When a window is full, and how large one is that nobody measured."""
    roots: tuple[Path, ...] = ()
    """Below which transcripts are read."""
    emit: Emit = field(default=unheard)
    note: Note = field(default=unnoted)
    writer: NapWriter | None = None
    """A language model that writes what naps by themselves keep; who asks gets the rules."""

    async def nap(self, caller: Caller, request: NapRequest) -> NapResult:
        """Nap and return the shorter list, after COMMIT (SPEC 6).

        Raises InvalidError for a transcript that cannot be read, NotFoundError for a
        session that never said anything, MemoryStoreError for an agent that keeps
        nothing, BusyError, ReadOnlyError, DiskFullError.
        """
        began_us = self.clock.monotonic_us()
        try:
            result = await self._nap(caller, request)
        except CallerError:
            raise  # there was nothing to nap over
        except MemdError as error:
            self._note(caller, request, began_us, {"kind": error.kind})
            raise
        details = {"run_id": result.run_id, "stored": result.stored, "merged": result.merged}
        self._note(caller, request, began_us, details, result)
        return result

    def _note(
        self,
        caller: Caller,
        request: NapRequest,
        began_us: int,
        details: dict[str, Any],
        result: NapResult | None = None,
    ) -> None:
        now_us = self.clock.monotonic_us()
        self.note(
            Occurrence(
                self.ids.new() if result is None else result.run_id,
                caller.agent_id,
                "nap_failed" if result is None else "nap_completed",
                self.clock.now_us(),
                {"reason": request.reason, **details},
                work=RunKind.NAP,
                seconds=(now_us - began_us) / 1e6,
                tokens=0 if result is None else result.detail.tokens_before,
                is_success=result is not None,
            )
        )

    async def _nap(self, caller: Caller, request: NapRequest) -> NapResult:
        ERASURES_SEEN.set(self.db.files.erasure_count)
        level = await self._level(caller)
        heard, _, draft = await self._sifted(caller, request)
        if self.writer is not None and request.reason != ASKED:
            draft = await self.writer.write(draft, caller.agent_id)
        if draft.learns:
            self.queue.expect()
        ready = await self.work.run(drafted, draft, self.counter, heard.session_id, self.chunking)
        run_id = self.ids.new()
        writing = Keeping(self.ids, run_id, level, heard, ready, request)
        by = _as_consolidation(caller)
        kept = await self.db.write(
            by,
            lambda conn: writing.keep(conn, by, self.clock.now_us()),
            reply=NapOutcome,
            batch=run_id,
        )
        if kept.stored:
            self.queue.wake()
        result = NapResult(
            run_id=kept.run_id,
            session_id=heard.session_id,
            messages=ready.answer,
            summary_text=ready.summary,
            stored=kept.stored,
            merged=kept.merged,
            quarantined=kept.quarantined,
            detail=ready.detail,
        )
        if request.beside is not None:
            await self.work.run(self._lay, request.beside, result, ready)
        if kept.quarantined:
            payload = {"run_id": kept.run_id, "flagged": kept.quarantined}
            self.emit(
                caller.agent_id, EventName.FLAGGED, {**payload, "quarantined": kept.quarantined}
            )
        self.emit(caller.agent_id, EventName.CONSOLIDATED, _event(result, request.reason))
        return result

    async def foretell(self, caller: Caller, request: NapRequest) -> tuple[int, int]:
        """Return how many memories the nap would make, and how many are known; none is stored.

        Raises as :meth:`nap` does. What somebody deleted counts as new here.
        """
        await self._level(caller)
        _, known, draft = await self._sifted(caller, request)
        learnt = [each.text for each in (*draft.facts, *draft.lessons)]
        made = [known_as(text) for text in (*learnt, *(each.text for each in draft.distilled))]
        others = await self.db.read(_elsewhere, caller, request.session_id, frozenset(made))
        new = sum(text not in known and text not in others for text in made)
        return new, len(made) - new + draft.known

    async def rehearse(self) -> None:
        """Prepare a nap that nobody wanted and store nothing.

        Afterwards the vocabulary is read and the patterns are made, for which a process's
        first nap would wait. Raises ModelError for a vocabulary that cannot be read.
        """
        rule = self._rule(NapRequest(reason=Reason.FULL.value))
        draft = await self.work.run(sifted, _REHEARSAL, rule=rule, distils=True)
        await self.work.run(drafted, draft, self.counter, None, self.chunking)

    async def _level(self, caller: Caller) -> MemoryLevel:
        if caller.agent_id == RESERVED_AGENT:
            raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")
        level = await self.db.read(agents.level, caller.agent_id) or self.level
        if level is MemoryLevel.NONE:
            raise MemoryStoreError("the memory level is none: nothing is stored", field="agent_id")
        return level

    def _rule(self, request: NapRequest) -> MemoryConsolidator:
        return MemoryConsolidator(
            self.rule.threshold_pct,
            request.max_tokens or self.rule.max_tokens,
            # Who asks gets the documents' rules to the letter (SPEC 6.5).
            mention_share=0.0 if request.reason == ASKED else MENTION_SHARE,
        )

    async def _sifted(
        self, caller: Caller, request: NapRequest
    ) -> tuple[NapMessages, frozenset[bytes], Sifted]:
        """Return what was heard, which texts its session has, and what is worth storing."""
        heard = await self._heard(caller, request)
        distils = request.reason != ASKED
        if distils and not heard.rows:
            heard = replace(heard, earlier=await self._earlier(caller, heard))
        known = await self.db.read(_texts, caller.agent_id, heard.session_id)
        others = await self._injected(caller, heard.session_id) if distils else ()
        draft = await self.work.run(
            sifted,
            heard.messages,
            rule=self._rule(request),
            before=Before(known, heard.earlier.messages, others),
            last=request.last,
            distils=distils,
        )
        return heard, known, draft

    async def _injected(self, caller: Caller, session_id: str | None) -> tuple[str, ...]:
        """Return what the session's prompts gave: repeated in an answer it is no news."""
        if session_id is None:
            return ()
        return tuple(await self.db.read(injections.texts_given, caller.agent_id, session_id))

    # Where the messages come from.

    async def _heard(self, caller: Caller, request: NapRequest) -> NapMessages:
        session_id = request.session_id or caller.session_id
        if request.messages is not None:
            return NapMessages(request.messages, session_id)
        read = request.transcript
        if read is None and request.transcript_path is not None:
            read = await self.work.run(self._transcript, Path(request.transcript_path))
        if read is not None:
            session_id = session_id or read.session_id
            messages = read.messages[-NAP_MESSAGES_MAX:]
            history = await self.db.read(_history, caller.agent_id, session_id)
            if history.heard > len(history.places):
                messages = await self.work.run(remembered, messages, history)
            return NapMessages(messages, session_id)
        if session_id is None:
            raise InvalidError(
                "say what to nap over", hint="give messages, a transcript_path or a session_id"
            )
        rows = await self.db.read(_memory_rows, caller.agent_id, session_id)
        if rows is None:
            raise NotFoundError("no such session", field="session_id")
        return NapMessages(
            [_message(row) for row in rows], session_id, [r.memory_key for r in rows]
        )

    async def _earlier(self, caller: Caller, heard: NapMessages) -> Earlier:
        """Return what the session said before the list, as far as memd kept it."""
        history = await self.db.read(_history, caller.agent_id, heard.session_id)
        if not history.places:
            return NONE
        count = await self.work.run(start_of, heard.messages, history)
        room = NAP_MESSAGES_MAX - len(heard.messages)
        if count <= 0 or room <= 0:
            return NONE

        def before(conn: Reading) -> list[EarlierRow]:
            key = _session_key(conn, caller.agent_id, heard.session_id)
            return [] if key is None else turns.before(conn, key, count, room)

        rows = await self.db.read(before)
        return await self.work.run(as_messages, rows)

    def _transcript(self, path: Path) -> transcripts.Transcript:
        try:
            raw = files.read_own(path, NAP_TRANSCRIPT_BYTES_MAX, self.roots, tail=True)
            return transcripts.read(raw)
        except UnreadableSignal as error:
            raise InvalidError(
                f"the transcript is not read: {error}", field="transcript_path"
            ) from None

    # What is laid beside the usage file.

    def _lay(self, usage_file: Path, result: NapResult, ready: Prepared) -> None:
        """Write the shorter list beside *usage_file*: whole or not at all, for its owner alone."""
        target = usage_file.with_name(usage_file.name.removesuffix(".json") + CONSOLIDATED_SUFFIX)
        whole = {
            "v": 1,
            **_event(result, None),
            "at": from_us(self.clock.now_us()).isoformat(),
            "messages": ready.shorter,
            "summary_text": ready.summary,
            "detail": result.detail.model_dump(),
        }
        try:
            _replace(target, json.dumps(whole, ensure_ascii=False).encode())
        except OSError as error:
            log.warning("the consolidated list was not written", errno=error.errno)


def _as_consolidation(caller: Caller) -> Caller:
    return replace(caller, method=METHOD)


def _event(result: NapResult, reason: str | None) -> dict[str, Any]:
    fields = {
        "run_id": result.run_id,
        "session_id": result.session_id,
        "stored": result.stored,
        "merged": result.merged,
    }
    return fields if reason is None else {**fields, "reason": reason, **_counts(result.detail)}


def _counts(detail: NapDetail) -> dict[str, int]:
    return {name: getattr(detail, name) for name in ("messages_removed", "facts", "summary_chars")}


def _session_key(conn: Reading, agent_id: str, session_id: str | None) -> int | None:
    agent_key = names.find_agent(conn, agent_id)
    if agent_key is None or session_id is None:
        return None
    return sessions.find_key(conn, agent_key, session_id)


def _history(conn: Reading, agent_id: str, session_id: str | None) -> History:
    key = _session_key(conn, agent_id, session_id)
    if key is None:
        return NEW
    places = {mark: place for mark, (_, place) in sessions.known_messages(conn, key).items()}
    return History(places, sessions.message_count(conn, key))


def _texts(conn: Reading, agent_id: str, session_id: str | None) -> frozenset[bytes]:
    """Return the hashes of what the session has; a fact that it knows needs no draft."""
    key = _session_key(conn, agent_id, session_id)
    return frozenset() if key is None else sessions.known_texts(conn, key, NAP_MESSAGES_MAX)


def _elsewhere(
    conn: Reading, caller: Caller, session_id: str | None, hashes: frozenset[bytes]
) -> frozenset[bytes]:
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None:
        return frozenset()
    key = None if session_id is None else sessions.find_key(conn, agent_key, session_id)
    project_key = None
    if caller.project_id is not None:
        project_key = names.find_project(conn, caller.project_id)
        if project_key is None:
            return frozenset()
    return slots.told_elsewhere(conn, agent_key, project_key, key, hashes)


def _memory_rows(conn: Reading, agent_id: str, session_id: str) -> list[SessionMemoryRow] | None:
    key = _session_key(conn, agent_id, session_id)
    return None if key is None else sessions.last_memories(conn, key, NAP_MESSAGES_MAX)


def _message(row: SessionMemoryRow) -> Message:
    """Return a memory as the message that it was."""
    role = "assistant"
    if row.origin in {Origin.TOOL, Origin.WEB}:
        role = "tool"
    elif row.origin == Origin.PERSON and (row.speaker or "user").casefold() in OWNERS:
        role = "user"
    return {"role": role, "content": row.content, "timestamp": from_us(row.at_us).isoformat()}


def _replace(target: Path, raw: bytes) -> None:
    """Put *raw* in the place of *target* at once."""
    draft = target.with_name(f".{target.name}.tmp")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as stream:
        stream.write(raw)
    draft.replace(target)
