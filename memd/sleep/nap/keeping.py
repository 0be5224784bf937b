"""One nap's transaction: messages, facts, the run and its audit, all or nothing.

Everything that takes time was done before (``preparation``). A message that the
session has already is not kept twice, and a fact that it knows is no new memory,
so the same nap again changes nothing but the ledger, which says that it was.

An assistant's turn that stands as a memory, and that a nap tells too, is told once. What
was streamed to memd is memories already; a nap composes its own of the same words. The turn
goes to the archive, superseded, when it says nothing beyond what the nap's memories say;
the run's ledger brings it back. Turns with more in them stay, and so does what a person
said or handed over on purpose.
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
from memd.ingest.filing import Arrival
from memd.ingest.keep import keep
from memd.signals.transcripts import Transcript
from memd.sleep.distil.language.phrases import NARRATION
from memd.sleep.distil.language.prose import sentences
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.drafting import Drafted
from memd.sleep.nap.earlier import NONE, Earlier
from memd.sleep.nap.preparation import Prepared
from memd.sleep.nap.replacing import NapTarget, fates, rewrite, settle
from memd.store.access import changes, names
from memd.store.file.connect import Writing
from memd.store.memory import removal, sources
from memd.store.run import runs
from memd.store.session import injections, sessions, turns
from memd.store.session.slots import DIGEST
from memd.text.restating import KnownWords

ASKED = "asked"
AHEAD_US = 86_400_000_000  # what a clock may be ahead of memd's before nobody believes it


@dataclass(frozen=True, slots=True)
class NapRequest:
    """Which session to nap, from where its messages come, and why.

    *last*: take the facts of all messages, since nobody will nap over the rest.
    *seen* is called inside the transaction with the time: what must hold exactly
    when the nap does. *beside* is the usage file that called for it.
    """

    messages: Sequence[Message] | None = None
    transcript_path: str | None = None
    transcript: Transcript | None = None
    """One that was read already; like one at a path it still holds what was forgotten since."""
    session_id: str | None = None
    reason: str = ASKED
    max_tokens: int | None = None
    last: bool = False
    seen: Callable[[Writing, int], None] | None = None
    swaps: bool = False
    """Who asks puts the shorter list in the place of the session's own."""
    beside: Path | None = None


@dataclass(frozen=True, slots=True)
class NapMessages:
    """The messages of a nap; *rows* are the memories that they come from, if they do.

    *earlier* is what the session said before them, for what is distilled.
    """

    messages: Sequence[Message]
    session_id: str | None
    rows: Sequence[int] = ()
    earlier: Earlier = NONE


class NapOutcome(Value):
    """What a nap did, as its reply is kept: never a message's text."""

    run_id: str
    stored: int
    merged: int
    quarantined: int = 0
    """Facts that look like an attack: kept out of sight."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """One nap's transaction."""

    ids: Ids
    run_id: str
    level: MemoryLevel
    heard: NapMessages
    ready: Prepared
    request: NapRequest

    def keep(self, conn: Writing, caller: Caller, now_us: int) -> NapOutcome:
        agent_key = names.agent(conn, caller.agent_id, now_us)
        asked = {
            "reason": self.request.reason,
            "session_id": self.heard.session_id,
            "messages": len(self.heard.messages),
        }
        run_key = runs.start(conn, self.run_id, RunKind.NAP, agent_key, asked, now_us)
        project_key = names.project(conn, caller.project_id, now_us)
        session_key = names.session(
            conn,
            self.heard.session_id,
            agent_key=agent_key,
            client_key=names.client(conn, caller.client, now_us),
            project_key=project_key,
            now_us=now_us,
        )
        kept_as = {
            **self._keep_messages(conn, agent_key, session_key, now_us),
            **self.heard.earlier.kept_as,
        }
        place = NapTarget(conn, caller, run_key, agent_key, session_key, project_key, now_us)
        kept = self._store(place, kept_as)
        if session_key is None:
            sources.drop_unused(conn, list(kept_as.values()))
        self._finish(conn, run_key, kept.stored, now_us)
        if self.request.swaps and session_key is not None and self.ready.detail.messages_removed:
            injections.empty(conn, session_key, now_us, announced=True)
        if self.request.seen is not None:
            self.request.seen(conn, now_us)
        return kept

    def _store(self, place: NapTarget, kept_as: Mapping[int, int]) -> NapOutcome:
        """Make memories of what is new, and let them take the places of others."""
        drafted = self._drafted()
        planned = fates(place, drafted)
        new = [(each, fate) for each, fate in zip(drafted, planned, strict=True) if fate.is_new]
        arrivals = [self._arrival(each, kept_as, place.now_us) for each, _ in new]
        receipts = keep(place.conn, place.caller, arrivals, self.ids, place.now_us)
        for (each, fate), receipt in zip(new, receipts, strict=True):
            made = receipt.stored + receipt.pending + receipt.quarantined
            self._link(place.conn, each, [item.id for item in made], kept_as)
            settle(place, self.ids, each, fate, receipt)
        stands = [
            each.drafts.items[0].content
            for (each, _), receipt in zip(new, receipts, strict=True)
            if each.slot not in {None, DIGEST} and (receipt.stored or receipt.pending)
        ]
        move_to_archive(place, self.ids, stands)
        rewritten = 0
        for each, fate in zip(drafted, planned, strict=True):
            if fate.rewrites is not None:
                rewrite(place, each, fate.rewrites)
                self._link(place.conn, each, [fate.rewrites.memory_id], kept_as)
                rewritten += 1
        merged = sum(len(receipt.merged) for receipt in receipts)
        return NapOutcome(
            run_id=self.run_id,
            stored=rewritten + sum(len(each.stored) + len(each.pending) for each in receipts),
            merged=self.ready.known + merged + len(drafted) - len(new) - rewritten,
            quarantined=sum(len(receipt.quarantined) for receipt in receipts),
        )

    def _drafted(self) -> Sequence[Drafted]:
        """Return what becomes memories; a night sums up what a session was told as memories."""
        if not self.heard.rows:
            return self.ready.drafted
        return [each for each in self.ready.drafted if each.slot != DIGEST]

    def _arrival(self, each: Drafted, kept_as: Mapping[int, int], now_us: int) -> Arrival:
        # A digest is of the whole session: none of its messages is forgotten with it.
        source_key = None if each.slot == DIGEST else kept_as.get(each.places[0])
        return Arrival(
            _timely(each.request, now_us),
            each.drafts,
            self.level,
            batch=self.run_id,
            gated=False,
            distilled=True,
            source_key=source_key,
        )

    def _link(
        self,
        conn: Writing,
        each: Drafted,
        memory_ids: Sequence[str],
        kept_as: Mapping[int, int],
    ) -> None:
        """Note of which messages, or of which memories, these were made."""
        if self.heard.rows:
            for at in each.places:
                sessions.derive(conn, self.heard.rows[at], memory_ids)
        of = [kept_as[at] for at in each.places if at in kept_as]
        for memory_id in memory_ids:
            turns.put_turns(conn, memory_id, of)

    def _keep_messages(
        self, conn: Writing, agent_key: int, session_key: int | None, now_us: int
    ) -> dict[int, int]:
        """Keep the messages that are not kept yet; return each one's source, by its place.

        What the session told memd is kept already, as memories.
        """
        if self.heard.rows:
            return {}
        known = {} if session_key is None else sessions.known_messages(conn, session_key)
        places = set(range(len(self.ready.kept)))
        if session_key is None:
            places = {at for each in self.ready.drafted for at in each.places}
        kept_as: dict[int, int] = {}
        new: list[sessions.NewMessage] = []
        for place, message in enumerate(self.ready.kept):
            if message is None or place not in places:
                continue
            there = known.get((message.sha256, message.nth))
            if there is not None:
                key, _ = there
            else:
                key = sources.put(
                    conn, agent_key, session_key, message.sha256, message.zlib, now_us
                )
                said_us = _credible(message.said_at, now_us)
                new.append(sessions.NewMessage(key, message.nth, message.role, said_us))
            kept_as[place] = key
        if session_key is not None:
            sessions.add_messages(conn, session_key, new)
            names.count_session(conn, session_key, 0, 0, now_us)
        return kept_as

    def _finish(self, conn: Writing, run_key: int, stored: int, now_us: int) -> None:
        """Record what the nap did: the run, and through it the audit (SPEC 6.17)."""
        runs.step(conn, run_key, "nap", stored, {}, now_us)
        report = {
            "steps": [{"name": "nap", "rows": stored, "steps": 1}],
            "detail": self.ready.detail.model_dump(),
        }
        runs.finish(conn, run_key, RunState.DONE, report, now_us)
        payload = json.dumps(report, sort_keys=True).encode()
        changes.touch(conn, self.run_id.encode(), hashlib.sha256(payload).digest())


def _timely(request: IngestRequest, now_us: int) -> IngestRequest:
    """Return *request* without the time of what is yet to be said."""
    at = request.occurred_at
    if at is None or _credible(at, now_us) is not None:
        return request
    return request.model_copy(update={"occurred_at": None})


def _credible(at: datetime | None, now_us: int) -> int | None:
    """Return when something was said, None when that is yet to come."""
    return None if at is None or to_us(at) > now_us + AHEAD_US else to_us(at)


TURNS_MAX = 500
_SPARE = 1.5
"""A turn of so much more characters than all that was told says more."""


def move_to_archive(place: NapTarget, ids: Ids, texts: Sequence[str]) -> int:
    """Supersede the turns of the place's session that only say what the *texts* say.

    Returns how many. A nap's undoing brings them back.
    """
    if place.session_key is None or not texts:
        return 0
    rows = turns.of_assistants(place.conn, place.session_key, TURNS_MAX)
    keys = repeating(rows, texts)
    if keys:
        before = runs.images(place.conn, keys)
        # Not as by an owner's word: what was made of a turn, this nap's memory too, stays.
        removal.archive(place.conn, keys, ArchiveReason.SUPERSEDED, place.now_us, new_id=ids.new)
        runs.note(place.conn, place.run_key, keys, runs.MOVED, before)
    return len(keys)


def repeating(rows: Iterable[tuple[int, str]], texts: Sequence[str]) -> list[int]:
    """Return the keys of those *rows*, by key and text, of which the *texts* say all.

    >>> repeating([(1, "Let me see. The port of the stage is 8443."), (2, "It is 8443 and 9000.")],
    ...           ["Outcome: The port of the stage is 8443."])
    [1]
    """
    known_words = KnownWords(texts)
    room = _SPARE * sum(map(len, texts))
    return [key for key, text in rows if len(text) <= room and _is_told(text, known_words)]


def _is_told(text: str, known_words: KnownWords) -> bool:
    says = [each.text for each in sentences(text) if not NARRATION.match(each.text)]
    return bool(says) and all(known_words.says(each) for each in says)
