"""Nap: consolidate one session's context window (SPEC 6).

The steps (:meth:`Nap._nap`): read the messages (``source``), replace secrets and extract
what is worth storing (``preparation``), draft memories of it, write everything in one transaction
(``transaction``), write the shorter list beside the usage file, and emit events. Extracting and
drafting run in the work thread. After a kill either everything is stored or nothing, and repeating
a nap stores nothing new.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import (
    CallerError,
    MemdError,
    ModelError,
    StoppingError,
    UnavailableError,
)
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.caller import ERASURES_SEEN, Caller
from memd.domain.encoding import (
    ChunkingConfig,
    Embedder,
    SentenceClassifier,
    SentenceLogits,
    TokenCounter,
)
from memd.domain.enums import MemoryLevel, RunKind
from memd.domain.occurrence import Note, Occurrence, ignore_occurrence
from memd.domain.sleep.sleep import NapResult
from memd.domain.values import Emit, EventName, unheard
from memd.ingest.queue import EmbeddingQueue
from memd.signals.usage import CONSOLIDATED_SUFFIX
from memd.sleep.distil.context_worth import ADDS_COSINE, Addition
from memd.sleep.distil.distil import SessionTurns
from memd.sleep.distil.exchanges import USERS_KINDS
from memd.sleep.nap.preparation import (
    NapExtract,
    NapReading,
    content_hash,
    draft_memories,
    extract,
    list_additions,
    read,
)
from memd.sleep.nap.source import ASKED, NapRequest, NapSource, SourceReader
from memd.sleep.nap.supersession import DECIDED_MAX
from memd.sleep.nap.transaction import NapOutcome, NapTransaction
from memd.sleep.transcript.consolidator import MENTION_SHARE, MemoryConsolidator
from memd.sleep.transcript.messages import Message
from memd.sleep.window.trigger import METHOD, Reason
from memd.store.access import agents, names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.search import vectors
from memd.store.session import sessions, slots

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
    """Consolidates sessions."""

    db: Database
    ids: Ids
    clock: Clock
    work: Work
    counter: TokenCounter
    embedder: Embedder
    queue: EmbeddingQueue
    level: MemoryLevel
    chunking: ChunkingConfig
    rule: MemoryConsolidator
    """The threshold of a full window, and the size to assume if the window's is unknown."""
    roots: tuple[Path, ...] = ()
    """The folders below which transcripts may be read."""
    emit: Emit = field(default=unheard)
    note: Note = field(default=ignore_occurrence)
    writer: NapWriter | None = None
    """The language model that writes automatic naps; a nap on request follows the rules alone."""
    classifier: SentenceClassifier | None = None
    """The model that judges sentences; without one the rules decide alone."""

    async def nap(self, caller: Caller, request: NapRequest) -> NapResult:
        """Consolidate the session and return the shorter list after COMMIT (SPEC 6).

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
        """Record the nap in the operational records: completed, or without a *result* failed."""
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
        level = await self.db.read(agents.require_level, caller.agent_id, self.level)
        caller = await self.db.read(_in_project, caller, request.session_id)
        source, extracted = await self._extract(caller, request)
        if self.writer is not None and request.reason != ASKED:
            extracted = await self.writer.write(extracted, caller.agent_id)
        if extracted.has_news:
            self.queue.expect()
        prepared = await self.work.run(
            draft_memories, extracted, self.counter, source.session_id, self.chunking
        )
        transaction = NapTransaction(self.ids, self.ids.new(), level, source, prepared, request)
        outcome = await self._store(replace(caller, method=METHOD), transaction)
        result = NapResult(
            run_id=outcome.run_id,
            session_id=source.session_id,
            messages=extracted.answer,
            summary_text=extracted.summary,
            stored=outcome.stored,
            merged=outcome.merged,
            quarantined=outcome.quarantined,
            detail=extracted.detail,
        )
        if request.usage_file is not None:
            await self.work.run(self._write_list, request.usage_file, result, extracted)
        self._emit_events(caller.agent_id, result, request.reason)
        return result

    async def _store(self, author: Caller, transaction: NapTransaction) -> NapOutcome:
        """Write the nap and wake the embedding queue; a repeated request gets its first reply."""
        outcome = await self.db.write(
            author,
            lambda conn: transaction.run(conn, author, self.clock.now_us()),
            reply=NapOutcome,
            batch=transaction.run_id,
        )
        if outcome.stored:
            self.queue.wake()
        return outcome

    def _emit_events(self, agent_id: str, result: NapResult, reason: str) -> None:
        if result.quarantined:
            payload = {"run_id": result.run_id, "flagged": result.quarantined}
            self.emit(agent_id, EventName.FLAGGED, {**payload, "quarantined": result.quarantined})
        self.emit(agent_id, EventName.CONSOLIDATED, _event(result, reason))

    async def preview(self, caller: Caller, request: NapRequest) -> tuple[int, int]:
        """Return how many memories the nap would make and how many exist; store nothing.

        Raises the errors of :meth:`nap`. A memory that its owner deleted counts as new.
        """
        await self.db.read(agents.require_level, caller.agent_id, self.level)
        source, extracted = await self._extract(caller, request)
        texts = [fact.text for fact in (*extracted.facts, *extracted.lessons)]
        texts += [memory.text for memory in extracted.memories]
        hashes = [content_hash(text) for text in texts]
        known_elsewhere = await self.db.read(
            _hashes_elsewhere, caller, request.session_id, frozenset(hashes)
        )
        known = source.context.known_hashes | known_elsewhere
        new = sum(text_hash not in known for text_hash in hashes)
        return new, len(hashes) - new + extracted.known_count

    async def restore_texts(
        self, caller: Caller, request: NapRequest, result: NapResult
    ) -> NapResult:
        """Return *result*, which was stored without its texts, with them; store nothing."""
        _, extracted = await self._extract(caller, request)
        texts = {"messages": extracted.answer, "summary_text": extracted.summary}
        return result.model_copy(update=texts)

    async def warm_up(self) -> None:
        """Prepare a nap over sample messages, and store nothing.

        This loads the vocabulary and compiles the patterns, which would delay the first nap. Raises
        ModelError for a vocabulary that cannot be read.
        """
        rule = self._rule(NapRequest(reason=Reason.FULL.value))
        reading = await self.work.run(read, _SAMPLE_MESSAGES, distils=True)
        extracted = await self.work.run(extract, reading, rule=rule)
        await self.work.run(draft_memories, extracted, self.counter, None, self.chunking)

    def _rule(self, request: NapRequest) -> MemoryConsolidator:
        return MemoryConsolidator(
            self.rule.threshold_pct,
            request.max_tokens or self.rule.max_tokens,
            # A nap on request follows the specification exactly (SPEC 6.5).
            mention_share=0.0 if request.reason == ASKED else MENTION_SHARE,
            withholds_attacks=True,
        )

    async def _extract(self, caller: Caller, request: NapRequest) -> tuple[NapSource, NapExtract]:
        """Read the nap's messages and extract what is worth storing."""
        distils = request.reason != ASKED
        source = await SourceReader(self.db, self.work, self.roots).read(
            caller, request, distils=distils
        )
        reading = await self.work.run(read, source.messages, source.context, distils=distils)
        extract_now = partial(
            extract,
            reading,
            rule=self._rule(request),
            last=request.last,
            logits=await self._classify(reading.session),
        )
        extracted = await self.work.run(extract_now)
        if additions := await self._find_additions(caller, source.session_id, reading, extracted):
            extracted = await self.work.run(extract_now, additions=additions)
        return source, extracted

    async def _find_additions(
        self, caller: Caller, session_id: str | None, reading: NapReading, extracted: NapExtract
    ) -> frozenset[int]:
        """Return the places of messages that add to memories of other sessions without a project.

        Of the messages of which nothing is kept, those that share words with such a memory are
        compared with it by the model; without one, nothing is.
        """
        model = self.embedder.fingerprint
        if reading.session is None or model is None:
            return frozenset()
        known = await self.db.read(_list_known, caller, session_id)
        additions = await self.work.run(list_additions, reading, extracted.memories, known)
        try:
            embedded = await self.embedder.embed([each.text for each in additions], bulk=True)
        except StoppingError:
            raise
        except (UnavailableError, ModelError) as error:
            log.info("naps compare no message with known memories", kind=error.kind)
            return frozenset()
        both = list(zip(additions, embedded, strict=True))
        return await self.db.read(_places_near, model.text, both) if both else frozenset()

    async def _classify(self, session: SessionTurns | None) -> Sequence[Sequence[SentenceLogits]]:
        """Return the model's output for the sentences of *session*, () without a model or session.

        If the model is unavailable, the rules decide alone.
        """
        if self.classifier is None or session is None:
            return ()
        try:
            return await self.classifier.classify(session.sentences(), session.agent_places())
        except StoppingError:
            raise
        except (UnavailableError, ModelError) as error:
            log.info("naps judge sentences by rules alone", kind=error.kind)
            return ()

    # The file beside the usage file.

    def _write_list(self, usage_file: Path, result: NapResult, extracted: NapExtract) -> None:
        """Write the shorter list beside *usage_file*, atomically and for its owner alone."""
        target = usage_file.with_name(usage_file.name.removesuffix(".json") + CONSOLIDATED_SUFFIX)
        content = {
            "v": 1,
            **_event(result, None),
            "at": from_us(self.clock.now_us()).isoformat(),
            "messages": extracted.shorter,
            "summary_text": extracted.summary,
            "detail": result.detail.model_dump(),
        }
        try:
            _replace_file(target, json.dumps(content, ensure_ascii=False).encode())
        except OSError as error:
            log.warning("the consolidated list was not written", errno=error.errno)


def _event(result: NapResult, reason: str | None) -> dict[str, Any]:
    """Return the fields of the event; without a *reason*, those of the file of the shorter list."""
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


def _in_project(conn: Reading, caller: Caller, session_id: str | None) -> Caller:
    """Return *caller* with the project of the session, unless they name one themselves."""
    session_id = session_id or caller.session_id
    if caller.project_id is not None or session_id is None:
        return caller
    row = sessions.find(conn, names.find_agent(conn, caller.agent_id), session_id)
    return caller if row is None else replace(caller, project_id=row.project_id)


def _list_known(conn: Reading, caller: Caller, session_id: str | None) -> list[tuple[int, str]]:
    """Return keys and texts of the latest decided memories, [] for a session with a project."""
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None or _in_project(conn, caller, session_id).project_id is not None:
        return []
    scope = (agent_key, None, names.find_session(conn, agent_key, session_id))
    return slots.list_texts_to_compare(conn, scope, USERS_KINDS, DECIDED_MAX)


def _places_near(
    conn: Reading, model: str, embedded: Sequence[tuple[Addition, bytes]]
) -> frozenset[int]:
    """Return the places of those messages that are near enough to one of their memories."""
    model_key = vectors.live_model(conn, model)
    if not model_key:
        return frozenset()
    return frozenset(
        addition.place
        for addition, vector in embedded
        if any(
            cosine >= ADDS_COSINE
            for cosine in vectors.compare(conn, model_key, vector, addition.keys)[0].values()
        )
    )


def _hashes_elsewhere(
    conn: Reading, caller: Caller, session_id: str | None, hashes: frozenset[bytes]
) -> frozenset[bytes]:
    """Return those of *hashes* that other sessions of the caller's project have."""
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


def _replace_file(target: Path, raw: bytes) -> None:
    """Replace *target* atomically by a file with the content *raw*, for its owner alone."""
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(fd, "wb") as stream:
        stream.write(raw)
    temporary.replace(target)
