"""The transaction of one nap: messages, facts, the run and its audit, all or nothing.

Everything slow was done before (``preparation``). A message that the session has
is not stored twice, and a known fact makes no new memory, so repeating a nap
changes nothing but the ledger, which records it.

What an assistant streamed to memd is memories already, and a nap composes its own from the
same words. A turn that says nothing beyond what the nap's memories say is archived as
superseded; undoing the run restores it. Turns that say more stay, and so does whatever a
person said or stored on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryLevel, RunKind, RunState
from memd.domain.ingest import IngestRequest
from memd.domain.values import Value
from memd.ingest.arrivals import store_arrivals
from memd.ingest.filing import Arrival
from memd.signals.transcripts import Transcript
from memd.sleep.distil.environment import COMMANDS_SLOT
from memd.sleep.distil.language.phrases import NARRATION
from memd.sleep.distil.language.prose import sentences
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.drafting import NapDraft
from memd.sleep.nap.earlier_messages import NO_MESSAGES, EarlierMessages
from memd.sleep.nap.preparation import PreparedNap
from memd.sleep.nap.supersession import NapTarget, decide_outcomes, fill_slot, rewrite
from memd.store.access import changes, names
from memd.store.file.connect import Writing
from memd.store.memory import removal, sources
from memd.store.run import runs
from memd.store.session import injections, sessions, turns
from memd.store.session.slots import DIGEST
from memd.text.repetition import KnownWords

ASKED = "asked"
CLOCK_SKEW_US = 86_400_000_000  # the furthest in the future that a timestamp is believed: a day


@dataclass(frozen=True, slots=True)
class NapRequest:
    """Which session to nap over, where its messages come from, and why.

    *last*: take the facts of all messages, as no later nap will cover the rest.
    *on_write* is called inside the transaction with the time, for writes that must be
    atomic with the nap. *usage_file* is the file that triggered it.
    """

    messages: Sequence[Message] | None = None
    transcript_path: str | None = None
    transcript: Transcript | None = None
    """One that is already read; like one at a path, it may hold messages forgotten since."""
    session_id: str | None = None
    reason: str = ASKED
    max_tokens: int | None = None
    last: bool = False
    on_write: Callable[[Writing, int], None] | None = None
    replaces_window: bool = False
    """Whether the caller replaces the session's own list by the shorter one."""
    usage_file: Path | None = None


@dataclass(frozen=True, slots=True)
class NapSource:
    """The messages of a nap; *memory_keys* are the memories that they come from, if they do.

    *earlier* holds the session's messages before them, for what is distilled.
    """

    messages: Sequence[Message]
    session_id: str | None
    memory_keys: Sequence[int] = ()
    earlier: EarlierMessages = NO_MESSAGES


class NapOutcome(Value):
    """The result of a nap as its stored reply has it: never a message's text."""

    run_id: str
    stored: int
    merged: int
    quarantined: int = 0
    """Facts that look like an attack, stored out of sight."""


@dataclass(frozen=True, slots=True)
class NapTransaction:
    """The writes of one nap."""

    ids: Ids
    run_id: str
    level: MemoryLevel
    source: NapSource
    prepared: PreparedNap
    request: NapRequest

    def run(self, conn: Writing, caller: Caller, now_us: int) -> NapOutcome:
        """Write the nap within the caller's transaction and return its outcome."""
        agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
        request = {
            "reason": self.request.reason,
            "session_id": self.source.session_id,
            "messages": len(self.source.messages),
        }
        run_key = runs.start(conn, self.run_id, RunKind.NAP, agent_key, request, now_us)
        project_key = names.ensure_project(conn, caller.project_id, now_us)
        session_key = names.ensure_session(
            conn,
            self.source.session_id,
            agent_key=agent_key,
            client_key=names.ensure_client(conn, caller.client, now_us),
            project_key=project_key,
            now_us=now_us,
        )
        source_by_place = {
            **self._store_messages(conn, agent_key, session_key, now_us),
            **self.source.earlier.source_by_place,
        }
        target = NapTarget(conn, caller, run_key, agent_key, session_key, project_key, now_us)
        outcome = self._store_memories(target, source_by_place)
        if session_key is None:
            sources.drop_unused(conn, list(source_by_place.values()))
        self._finish(conn, run_key, outcome.stored, now_us)
        if (
            self.request.replaces_window
            and session_key is not None
            and self.prepared.detail.messages_removed
        ):
            injections.mark_emptied(conn, session_key, now_us, announced=True)
        if self.request.on_write is not None:
            self.request.on_write(conn, now_us)
        return outcome

    def _store_memories(self, target: NapTarget, source_by_place: Mapping[int, int]) -> NapOutcome:
        """Store what is new as memories, and let them supersede earlier ones."""
        drafts = self._drafts()
        outcomes = decide_outcomes(target, drafts)
        new = [
            (draft, outcome)
            for draft, outcome in zip(drafts, outcomes, strict=True)
            if outcome.is_new
        ]
        arrivals = [self._arrival(draft, source_by_place, target) for draft, _ in new]
        receipts = store_arrivals(target.conn, target.caller, arrivals, self.ids, target.now_us)
        for (draft, outcome), receipt in zip(new, receipts, strict=True):
            memories = receipt.stored + receipt.pending + receipt.quarantined
            self._link(target.conn, draft, [item.id for item in memories], source_by_place)
            fill_slot(target, self.ids, draft, outcome, receipt)
        texts = [
            draft.drafts.items[0].content
            for (draft, _), receipt in zip(new, receipts, strict=True)
            if draft.slot not in {None, DIGEST} and (receipt.stored or receipt.pending)
        ]
        archive_repeated_turns(target, self.ids, texts)
        rewritten = 0
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if outcome.rewrites is not None:
                rewrite(target, draft, outcome.rewrites)
                self._link(target.conn, draft, [outcome.rewrites.memory_id], source_by_place)
                rewritten += 1
        merged = sum(len(receipt.merged) for receipt in receipts)
        return NapOutcome(
            run_id=self.run_id,
            stored=rewritten + sum(len(each.stored) + len(each.pending) for each in receipts),
            merged=self.prepared.known_count + merged + len(drafts) - len(new) - rewritten,
            quarantined=sum(len(receipt.quarantined) for receipt in receipts),
        )

    def _drafts(self) -> Sequence[NapDraft]:
        """Return the drafts to store; memories need no digest, as a night sums them up."""
        if not self.source.memory_keys:
            return self.prepared.drafts
        return [draft for draft in self.prepared.drafts if draft.slot != DIGEST]

    def _arrival(
        self, draft: NapDraft, source_by_place: Mapping[int, int], target: NapTarget
    ) -> Arrival:
        level = self.level
        if (draft.slot or "").startswith(COMMANDS_SLOT) and target.project_key is not None:
            # "Run the tests here" is wrong anywhere else.
            level = MemoryLevel.PROJECT if level is MemoryLevel.PERSISTENT else level
        # A digest is of the whole session: none of its messages is forgotten with it.
        source_key = None if draft.slot == DIGEST else source_by_place.get(draft.places[0])
        return Arrival(
            _without_future_time(draft.request, target.now_us),
            draft.drafts,
            level,
            batch=self.run_id,
            gated=False,
            distilled=True,
            source_key=source_key,
        )

    def _link(
        self,
        conn: Writing,
        draft: NapDraft,
        memory_ids: Sequence[str],
        source_by_place: Mapping[int, int],
    ) -> None:
        """Record the messages, or the memories, that are the sources of these memories."""
        if self.source.memory_keys:
            for at in draft.places:
                sessions.record_derived(conn, self.source.memory_keys[at], memory_ids)
        source_keys = [source_by_place[at] for at in draft.places if at in source_by_place]
        for memory_id in memory_ids:
            turns.set_turns(conn, memory_id, source_keys)

    def _store_messages(
        self, conn: Writing, agent_key: int, session_key: int | None, now_us: int
    ) -> dict[int, int]:
        """Store the messages that are not stored yet; return each one's source key by its place.

        Messages that the session streamed to memd are memories already.
        """
        if self.source.memory_keys:
            return {}
        known = {} if session_key is None else sessions.messages_by_hash(conn, session_key)
        places = set(range(len(self.prepared.stored_messages)))
        if session_key is None:
            places = {at for draft in self.prepared.drafts for at in draft.places}
        source_by_place: dict[int, int] = {}
        new: list[sessions.NewMessage] = []
        for target, message in enumerate(self.prepared.stored_messages):
            if message is None or target not in places:
                continue
            stored = known.get((message.sha256, message.nth))
            if stored is not None:
                key, _ = stored
            else:
                key = sources.put(
                    conn, agent_key, session_key, message.sha256, message.zlib, now_us
                )
                past_us = _past_us(message.said_at, now_us)
                new.append(sessions.NewMessage(key, message.nth, message.role, past_us))
            source_by_place[target] = key
        if session_key is not None:
            sessions.add_messages(conn, session_key, new)
            names.count_session(conn, session_key, 0, 0, now_us)
        return source_by_place

    def _finish(self, conn: Writing, run_key: int, stored: int, now_us: int) -> None:
        """Record the run and its report, which the audit covers (SPEC 6.17)."""
        runs.step(conn, run_key, "nap", stored, {}, now_us)
        report = {
            "steps": [{"name": "nap", "rows": stored, "steps": 1}],
            "detail": self.prepared.detail.model_dump(),
        }
        runs.finish(conn, run_key, RunState.DONE, report, now_us)
        payload = json.dumps(report, sort_keys=True).encode()
        changes.touch(conn, self.run_id.encode(), hashlib.sha256(payload).digest())


def _without_future_time(request: IngestRequest, now_us: int) -> IngestRequest:
    """Return *request* without a time that lies in the future."""
    at = request.occurred_at
    if at is None or _past_us(at, now_us) is not None:
        return request
    return request.model_copy(update={"occurred_at": None})


def _past_us(at: datetime | None, now_us: int) -> int | None:
    """Return *at* in microseconds, None when it lies in the future."""
    return None if at is None or to_us(at) > now_us + CLOCK_SKEW_US else to_us(at)


TURNS_MAX = 500
_EXTRA_CHARS_SHARE = 1.5
"""A turn longer than this multiple of all the texts says more than they do."""


def archive_repeated_turns(target: NapTarget, ids: Ids, texts: Sequence[str]) -> int:
    """Supersede the turns of the target's session that say nothing beyond *texts*.

    Returns their number. Undoing the nap restores them.
    """
    if target.session_key is None or not texts:
        return 0
    rows = turns.list_assistant_turns(target.conn, target.session_key, TURNS_MAX)
    keys = find_repeated(rows, texts)
    if keys:
        before = runs.images(target.conn, keys)
        # Unlike an owner's archiving, this keeps what was made of a turn, such as this memory.
        removal.archive(target.conn, keys, ArchiveReason.SUPERSEDED, target.now_us, new_id=ids.new)
        runs.record(target.conn, target.run_key, keys, runs.MOVED, before)
    return len(keys)


def find_repeated(rows: Iterable[tuple[int, str]], texts: Sequence[str]) -> list[int]:
    """Return the keys of those *rows* (key and text) that say nothing beyond *texts*.

    >>> rows = [(1, "Let me see. The port of the stage is 8443."), (2, "It is 8443 and 9000.")]
    >>> find_repeated(rows, ["Outcome: The port of the stage is 8443."])
    [1]
    """
    known = KnownWords(texts)
    room = _EXTRA_CHARS_SHARE * sum(map(len, texts))
    return [key for key, text in rows if len(text) <= room and _is_repeated(text, known)]


def _is_repeated(text: str, known: KnownWords) -> bool:
    statements = [each.text for each in sentences(text) if not NARRATION.match(each.text)]
    return bool(statements) and all(known.covers(each) for each in statements)
