"""A nap: consolidation of one session's context window (SPEC 6).

In order: read the messages from the caller, from the assistant's transcript or from
the session's memories; replace secrets; prepare in the work thread
(``preparation``); write messages, memories, the record of the run and the audit in
one transaction; then queue the vectors, write the shorter list beside
the usage file, and emit the event. After a kill all of it is stored or
nothing, and repeating a nap stores nothing new.
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
from memd.domain.occurrence import Note, Occurrence, ignore_occurrence
from memd.domain.sleep.sleep import NapResult
from memd.domain.values import RESERVED_AGENT, Emit, EventName, unheard
from memd.ingest.draft import OWNERS
from memd.ingest.queue import EmbeddingQueue
from memd.signals import files, transcripts
from memd.signals.usage import CONSOLIDATED_SUFFIX, UnreadableSignal
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.consolidator import MENTION_SHARE, MemoryConsolidator
from memd.sleep.nap.drafting import content_hash
from memd.sleep.nap.earlier_messages import (
    NO_MESSAGES,
    EarlierMessages,
    count_earlier,
    rebuild_messages,
)
from memd.sleep.nap.erasures import NO_HISTORY, SessionHistory
from memd.sleep.nap.preparation import (
    NapExtract,
    PreparedNap,
    SessionContext,
    draft_memories,
    extract,
    remove_erased,
)
from memd.sleep.nap.transaction import ASKED, NapOutcome, NapRequest, NapSource, NapTransaction
from memd.sleep.window.trigger import METHOD, Reason
from memd.store.access import agents, names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.session import injections, sessions, slots, turns
from memd.store.session.sessions import SessionMemoryRow
from memd.store.session.turns import EarlierRow

if TYPE_CHECKING:
    from memd.sleep.model.nap_writer import NapWriter

_SAMPLE_MESSAGES: tuple[Message, ...] = (
    {"role": "user", "content": "You must always run the tests in src/parser/lexer.py:12."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "ls", "input": {}}]},
    {"role": "tool", "tool_call_id": "1", "content": "src/parser/lexer.py\nsrc/parser/tree.py"},
    *({"role": "assistant", "content": "The cause is a KeyError in Lexer.next_token."},) * 4,
)


@dataclass(frozen=True)
class Nap:
    """Consolidates sessions; its parts are handed in by the daemon."""

    db: Database
    ids: Ids
    clock: Clock
    work: Work
    counter: TokenCounter
    queue: EmbeddingQueue
    level: MemoryLevel
    chunking: ChunkingConfig
    rule: MemoryConsolidator
    """When a window is full, with the size to assume for a window of unknown size."""
    roots: tuple[Path, ...] = ()
    """The folders below which transcripts may be read."""
    emit: Emit = field(default=unheard)
    note: Note = field(default=ignore_occurrence)
    writer: NapWriter | None = None
    """The language model that writes automatic naps; a nap on request follows the rules alone."""

    async def nap(self, caller: Caller, request: NapRequest) -> NapResult:
        """Nap and return the shorter list, after COMMIT (SPEC 6).

        Raises InvalidError for a transcript that cannot be read, NotFoundError for a
        session without messages, MemoryStoreError for an agent that stores
        nothing, BusyError, ReadOnlyError, DiskFullError.
        """
        start_us = self.clock.monotonic_us()
        try:
            result = await self._nap(caller, request)
        except CallerError:
            raise  # the request was wrong, so no nap failed
        except MemdError as error:
            self._note(caller, request, start_us, {"kind": error.kind})
            raise
        details = {"run_id": result.run_id, "stored": result.stored, "merged": result.merged}
        self._note(caller, request, start_us, details, result)
        return result

    def _note(
        self,
        caller: Caller,
        request: NapRequest,
        start_us: int,
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
                seconds=(now_us - start_us) / 1e6,
                tokens=0 if result is None else result.detail.tokens_before,
                is_success=result is not None,
            )
        )

    async def _nap(self, caller: Caller, request: NapRequest) -> NapResult:
        ERASURES_SEEN.set(self.db.files.erasure_count)
        level = await self._memory_level(caller)
        source, _, extracted = await self._extract(caller, request)
        if self.writer is not None and request.reason != ASKED:
            extracted = await self.writer.write(extracted, caller.agent_id)
        if extracted.has_news:
            self.queue.expect()
        prepared = await self.work.run(
            draft_memories, extracted, self.counter, source.session_id, self.chunking
        )
        run_id = self.ids.new()
        transaction = NapTransaction(self.ids, run_id, level, source, prepared, request)
        author = replace(caller, method=METHOD)
        outcome = await self.db.write(
            author,
            lambda conn: transaction.run(conn, author, self.clock.now_us()),
            reply=NapOutcome,
            batch=run_id,
        )
        if outcome.stored:
            self.queue.wake()
        result = NapResult(
            run_id=outcome.run_id,
            session_id=source.session_id,
            messages=prepared.answer,
            summary_text=prepared.summary,
            stored=outcome.stored,
            merged=outcome.merged,
            quarantined=outcome.quarantined,
            detail=prepared.detail,
        )
        if request.usage_file is not None:
            await self.work.run(self._write_list, request.usage_file, result, prepared)
        if outcome.quarantined:
            payload = {"run_id": outcome.run_id, "flagged": outcome.quarantined}
            self.emit(
                caller.agent_id, EventName.FLAGGED, {**payload, "quarantined": outcome.quarantined}
            )
        self.emit(caller.agent_id, EventName.CONSOLIDATED, _event(result, request.reason))
        return result

    async def preview(self, caller: Caller, request: NapRequest) -> tuple[int, int]:
        """Return how many memories the nap would make and how many are known; stores nothing.

        Raises as :meth:`nap` does. A memory that its owner deleted counts as new here.
        """
        await self._memory_level(caller)
        _, known_hashes, extracted = await self._extract(caller, request)
        plain = [each.text for each in (*extracted.facts, *extracted.lessons)]
        hashes = [
            content_hash(text) for text in (*plain, *(each.text for each in extracted.distilled))
        ]
        known_elsewhere = await self.db.read(
            _hashes_elsewhere, caller, request.session_id, frozenset(hashes)
        )
        new = sum(text not in known_hashes and text not in known_elsewhere for text in hashes)
        return new, len(hashes) - new + extracted.known_count

    async def warm_up(self) -> None:
        """Prepare a nap over sample messages and store nothing.

        Loads the vocabulary and compiles the patterns, for which a process's
        first nap would otherwise wait. Raises ModelError for a vocabulary that cannot be read.
        """
        rule = self._rule(NapRequest(reason=Reason.FULL.value))
        extracted = await self.work.run(extract, _SAMPLE_MESSAGES, rule=rule, distils=True)
        await self.work.run(draft_memories, extracted, self.counter, None, self.chunking)

    async def _memory_level(self, caller: Caller) -> MemoryLevel:
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
            # A nap on request follows the specification exactly (SPEC 6.5).
            mention_share=0.0 if request.reason == ASKED else MENTION_SHARE,
        )

    async def _extract(
        self, caller: Caller, request: NapRequest
    ) -> tuple[NapSource, frozenset[bytes], NapExtract]:
        """Return the nap's messages, its session's text hashes, and what is worth storing."""
        source = await self._load_source(caller, request)
        distils = request.reason != ASKED
        if distils and not source.memory_keys:
            source = replace(source, earlier=await self._load_earlier(caller, source))
        known_hashes = await self.db.read(_text_hashes, caller.agent_id, source.session_id)
        injected = await self._load_injected(caller, source.session_id) if distils else ()
        extracted = await self.work.run(
            extract,
            source.messages,
            rule=self._rule(request),
            context=SessionContext(known_hashes, source.earlier.messages, injected),
            last=request.last,
            distils=distils,
        )
        return source, known_hashes, extracted

    async def _load_injected(self, caller: Caller, session_id: str | None) -> tuple[str, ...]:
        """Return the texts injected into the session: an answer that repeats them has no news."""
        if session_id is None:
            return ()
        return tuple(await self.db.read(injections.list_texts, caller.agent_id, session_id))

    # Where the messages come from.

    async def _load_source(self, caller: Caller, request: NapRequest) -> NapSource:
        session_id = request.session_id or caller.session_id
        if request.messages is not None:
            return NapSource(request.messages, session_id)
        read = request.transcript
        if read is None and request.transcript_path is not None:
            read = await self.work.run(self._read_transcript, Path(request.transcript_path))
        if read is not None:
            session_id = session_id or read.session_id
            messages = read.messages[-NAP_MESSAGES_MAX:]
            history = await self.db.read(_history, caller.agent_id, session_id)
            if history.message_count > len(history.places):
                messages = await self.work.run(remove_erased, messages, history)
            return NapSource(messages, session_id)
        if session_id is None:
            raise InvalidError(
                "say what to nap over", hint="give messages, a transcript_path or a session_id"
            )
        rows = await self.db.read(_memory_rows, caller.agent_id, session_id)
        if rows is None:
            raise NotFoundError("no such session", field="session_id")
        return NapSource(
            [_as_message(row) for row in rows], session_id, [r.memory_key for r in rows]
        )

    async def _load_earlier(self, caller: Caller, source: NapSource) -> EarlierMessages:
        """Return the stored messages of the session that precede the list."""
        history = await self.db.read(_history, caller.agent_id, source.session_id)
        if not history.places:
            return NO_MESSAGES
        count = await self.work.run(count_earlier, source.messages, history)
        room = NAP_MESSAGES_MAX - len(source.messages)
        if count <= 0 or room <= 0:
            return NO_MESSAGES

        def before(conn: Reading) -> list[EarlierRow]:
            key = _session_key(conn, caller.agent_id, source.session_id)
            return [] if key is None else turns.list_before(conn, key, count, room)

        rows = await self.db.read(before)
        return await self.work.run(rebuild_messages, rows)

    def _read_transcript(self, path: Path) -> transcripts.Transcript:
        try:
            raw = files.read_own(path, NAP_TRANSCRIPT_BYTES_MAX, self.roots, tail=True)
            return transcripts.read(raw)
        except UnreadableSignal as error:
            raise InvalidError(
                f"the transcript is not read: {error}", field="transcript_path"
            ) from None

    # The file beside the usage file.

    def _write_list(self, usage_file: Path, result: NapResult, prepared: PreparedNap) -> None:
        """Write the shorter list beside *usage_file*, atomically and for its owner alone."""
        target = usage_file.with_name(usage_file.name.removesuffix(".json") + CONSOLIDATED_SUFFIX)
        content = {
            "v": 1,
            **_event(result, None),
            "at": from_us(self.clock.now_us()).isoformat(),
            "messages": prepared.shorter,
            "summary_text": prepared.summary,
            "detail": result.detail.model_dump(),
        }
        try:
            _replace_file(target, json.dumps(content, ensure_ascii=False).encode())
        except OSError as error:
            log.warning("the consolidated list was not written", errno=error.errno)


def _event(result: NapResult, reason: str | None) -> dict[str, Any]:
    fields = {
        "run_id": result.run_id,
        "session_id": result.session_id,
        "stored": result.stored,
        "merged": result.merged,
    }
    if reason is None:
        return fields
    detail = result.detail.model_dump(include={"messages_removed", "facts", "summary_chars"})
    return {**fields, "reason": reason, **detail}


def _session_key(conn: Reading, agent_id: str, session_id: str | None) -> int | None:
    agent_key = names.find_agent(conn, agent_id)
    if agent_key is None or session_id is None:
        return None
    return names.find_session(conn, agent_key, session_id)


def _history(conn: Reading, agent_id: str, session_id: str | None) -> SessionHistory:
    key = _session_key(conn, agent_id, session_id)
    if key is None:
        return NO_HISTORY
    places = {mark: place for mark, (_, place) in sessions.messages_by_hash(conn, key).items()}
    return SessionHistory(places, sessions.count_ever_stored(conn, key))


def _text_hashes(conn: Reading, agent_id: str, session_id: str | None) -> frozenset[bytes]:
    """Return the hashes of the session's texts; a fact among them needs no draft."""
    key = _session_key(conn, agent_id, session_id)
    return frozenset() if key is None else sessions.memory_hashes(conn, key, NAP_MESSAGES_MAX)


def _hashes_elsewhere(
    conn: Reading, caller: Caller, session_id: str | None, hashes: frozenset[bytes]
) -> frozenset[bytes]:
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None:
        return frozenset()
    key = None if session_id is None else names.find_session(conn, agent_key, session_id)
    project_key = None
    if caller.project_id is not None:
        project_key = names.find_project(conn, caller.project_id)
        if project_key is None:
            return frozenset()
    return slots.find_stored_elsewhere(conn, agent_key, project_key, key, hashes)


def _memory_rows(conn: Reading, agent_id: str, session_id: str) -> list[SessionMemoryRow] | None:
    key = _session_key(conn, agent_id, session_id)
    return None if key is None else sessions.list_last_memories(conn, key, NAP_MESSAGES_MAX)


def _as_message(row: SessionMemoryRow) -> Message:
    """Return the message that a memory was."""
    role = "assistant"
    if row.origin in {Origin.TOOL, Origin.WEB}:
        role = "tool"
    elif row.origin == Origin.PERSON and (row.speaker or "user").casefold() in OWNERS:
        role = "user"
    return {"role": role, "content": row.content, "timestamp": from_us(row.at_us).isoformat()}


def _replace_file(target: Path, raw: bytes) -> None:
    """Replace *target* atomically by a file with *raw*."""
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(fd, "wb") as stream:
        stream.write(raw)
    temporary.replace(target)
