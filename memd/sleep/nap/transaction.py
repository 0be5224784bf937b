"""Write one nap in a transaction: messages, memories, the run and its audit.

Everything slow is done before (``preparation``). Known messages and facts are not stored again, so
repeating a nap changes nothing but the ledger, which records it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel, RunKind, RunState
from memd.domain.ingest import IngestRequest
from memd.domain.values import Value
from memd.ingest.arrivals import store_arrivals
from memd.ingest.filing import Arrival
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.nap.preparation import NapDraft, PreparedNap
from memd.sleep.nap.source import NapRequest, NapSource
from memd.sleep.nap.supersession import (
    NapTarget,
    archive_repeated_turns,
    archive_superseded,
    decide_outcomes,
    fill_slot,
    record_moves,
    rewrite,
)
from memd.store.access import changes, names
from memd.store.file.connect import Writing
from memd.store.memory import sources
from memd.store.run import runs
from memd.store.session import injections, session_messages, sessions, turns
from memd.store.session.slots import DIGEST

CLOCK_SKEW_US = 86_400_000_000  # the furthest in the future that a timestamp is believed: a day


class NapOutcome(Value):
    """The result of a nap, stored as its reply; it has no text of a message."""

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
            **self.source.stored_keys,
        }
        target = NapTarget(conn, caller, run_key, agent_key, session_key, project_key, now_us)
        outcome = self._store_memories(target, source_by_place)
        if session_key is None:
            sources.drop_unused(conn, list(source_by_place.values()))
        self._finish(conn, run_key, outcome.stored, now_us)
        if (
            self.request.replaces_window
            and session_key is not None
            and self.prepared.extract.detail.messages_removed
        ):
            injections.mark_emptied(conn, session_key, now_us, announced=True)
        if self.request.on_write is not None:
            self.request.on_write(conn, now_us)
        return outcome

    def _store_memories(self, target: NapTarget, source_by_place: Mapping[int, int]) -> NapOutcome:
        """Store what is new as memories, and let them supersede earlier ones."""
        drafts = self._drafts(target)
        outcomes = decide_outcomes(target, drafts)
        new = [
            (draft, outcome)
            for draft, outcome in zip(drafts, outcomes, strict=True)
            if outcome.is_new
        ]
        arrivals = [self._arrival(draft, source_by_place, target) for draft, _ in new]
        receipts = store_arrivals(
            target.conn,
            target.caller,
            arrivals,
            self.ids,
            target.now_us,
            partial(record_moves, target),
        )
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
            if not outcome.is_new:
                archive_superseded(target, self.ids, outcome)
            if outcome.rewrites is not None:
                rewrite(target, draft, outcome.rewrites)
                self._link(target.conn, draft, [outcome.rewrites.memory_id], source_by_place)
                rewritten += 1
        merged = sum(len(receipt.merged) for receipt in receipts)
        stored = sum(len(receipt.stored) + len(receipt.pending) for receipt in receipts)
        known = self.prepared.extract.known_count + len(drafts) - len(new) - rewritten
        return NapOutcome(
            run_id=self.run_id,
            stored=rewritten + stored,
            merged=known + merged,
            quarantined=sum(len(receipt.quarantined) for receipt in receipts),
        )

    def _drafts(self, target: NapTarget) -> Sequence[NapDraft]:
        """Return the drafts to store, without the digest if a night has summarised the session.

        Nights do not summarise a session with a digest (SPEC 3.9), so it has one of the two.
        """
        if not self.source.memory_keys or not names.is_compressed(target.conn, target.session_key):
            return self.prepared.drafts
        return [draft for draft in self.prepared.drafts if draft.slot != DIGEST]

    def _arrival(
        self, draft: NapDraft, source_by_place: Mapping[int, int], target: NapTarget
    ) -> Arrival:
        """Return *draft* as an arrival: commands stay in their project."""
        level = self.level
        if (draft.slot or "").startswith(COMMANDS_SLOT) and target.project_key is not None:
            # "Run the tests here" is wrong anywhere else.
            level = MemoryLevel.PROJECT if level is MemoryLevel.PERSISTENT else level
        # A digest covers the whole session: forgetting it must not forget one of the messages.
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
            every = range(len(self.source.memory_keys))
            # A digest may have words of any memory, so it is forgotten with each of them.
            for place in every if draft.slot == DIGEST else draft.places:
                sessions.record_derived(conn, self.source.memory_keys[place], memory_ids)
        places = [place for place in draft.places if place in source_by_place]
        source_keys = [source_by_place[place] for place in places]
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
        known = {} if session_key is None else session_messages.list_by_hash(conn, session_key)
        places = set(range(len(self.prepared.stored_messages))) - self.source.stored_keys.keys()
        if session_key is None:
            places = {place for draft in self.prepared.drafts for place in draft.places}
        source_by_place: dict[int, int] = {}
        new: list[session_messages.NewMessage] = []
        for place, message in enumerate(self.prepared.stored_messages):
            if message is None or place not in places:
                continue
            stored = known.get((message.sha256, message.nth))
            if stored is not None:
                key, _ = stored
            else:
                key = sources.put(
                    conn, agent_key, session_key, message.sha256, message.zlib, now_us
                )
                at_us = past_us(message.said_at, now_us)
                new.append(session_messages.NewMessage(key, message.nth, message.role, at_us))
            source_by_place[place] = key
        if session_key is not None:
            session_messages.add(conn, session_key, new)
            names.count_session(conn, session_key, 0, 0, now_us)
        return source_by_place

    def _finish(self, conn: Writing, run_key: int, stored: int, now_us: int) -> None:
        """Record the run and its report, which the audit covers (SPEC 6.17)."""
        runs.step(conn, run_key, "nap", stored, {}, now_us)
        report = {
            "steps": [{"name": "nap", "rows": stored, "steps": 1}],
            "detail": self.prepared.extract.detail.model_dump(),
        }
        runs.finish(conn, run_key, RunState.DONE, report, now_us)
        payload = json.dumps(report, sort_keys=True).encode()
        changes.touch(conn, self.run_id.encode(), hashlib.sha256(payload).digest())


def _without_future_time(request: IngestRequest, now_us: int) -> IngestRequest:
    """Return *request* without a time that lies in the future."""
    at = request.occurred_at
    if at is None or past_us(at, now_us) is not None:
        return request
    return request.model_copy(update={"occurred_at": None})


def past_us(at: datetime | None, now_us: int) -> int | None:
    """Return *at* in microseconds, None for no time and one that lies in the future."""
    return None if at is None or to_us(at) > now_us + CLOCK_SKEW_US else to_us(at)
