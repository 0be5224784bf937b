"""Erase for good what a request to forget selects, step by step (SPEC D21).

A request selects memories, lessons and patterns, messages of sessions and, once nothing else is
left of them, the sessions. Each step is one transaction, so that other writes proceed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from memd.archive.authorship import check_may_change
from memd.archive.quarantine import EXCERPT_CHARS
from memd.base.clock import Clock, to_us
from memd.base.errors import InvalidError
from memd.base.limits import FORGOTTEN_IDS_MAX, FORGOTTEN_TEXTS_MAX
from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter
from memd.domain.removal import ForgetResult
from memd.domain.values import RESERVED_AGENT
from memd.guard.secrets import screen
from memd.store.access import names
from memd.store.file import scrub
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.learn import learnings
from memd.store.learn.learnings import LEARNINGS, PATTERNS, Proof
from memd.store.memory import filters, memories, removal, shared
from memd.store.session import session_messages, sessions
from memd.store.session.sessions import SessionSpan
from memd.view.view import one_line

ERASE_ROWS, ERASE_ROWS_FULL = 16, 4
"""Memories that one transaction erases (about 80 ms), and on a full disk.

There, the transaction's log must fit into the reserved space.
"""
ERASE_MESSAGES = 256
"""Messages that one transaction erases."""

_TIMES = {"since", "until"}
_CONDITIONS = tuple(MemoryFilter.model_fields)


@dataclass(frozen=True, slots=True)
class Erasure:
    """A request to forget."""

    caller: Caller
    ids: Sequence[str] | None
    condition: MemoryFilter | None
    source: str | None

    def check(self) -> None:
        """Raise InvalidError for a request without any condition."""
        if self.condition is None:
            if self.ids is not None or self.source is not None:
                return
            raise InvalidError("say what to forget", hint="give ids, a filter or a source")
        if not any(getattr(self.condition, name) for name in _CONDITIONS):
            raise InvalidError(
                "the filter holds no condition and would erase everything",
                field="filter",
                hint="name a category, tag, session, time or another condition",
            )

    def rows(self, conn: Reading, now_us: int) -> list[tuple[int, str, bytes]]:
        """Return key, id and hash of the memories and of the agent's published copies.

        Raises DeniedError as ``check_may_change`` does.
        """
        agent_key = names.agent_key(conn, self.caller.agent_id)
        keys = self._keys(conn, agent_key, now_us)
        copies = self._keys(conn, names.agent_key(conn, RESERVED_AGENT), now_us)
        keys += shared.filter_published(conn, agent_key, copies)
        check_may_change(conn, self.caller, keys)
        return memories.row_hashes(conn, keys)

    def _keys(self, conn: Reading, agent_key: int, now_us: int) -> list[int]:
        if self.ids is not None:
            keys = (memories.key_of(conn, agent_key, memory_id) for memory_id in self.ids)
            return [key for key in keys if key is not None]
        if self.source is not None:
            return memories.find_by_reference(conn, agent_key, self.source)
        bound = filters.bind(agent_key, self.condition or MemoryFilter(), now_us)
        return memories.find_in_any_state(conn, bound)

    def learnings(self, conn: Reading) -> _Learnings:
        """Return the agent's lessons and patterns that are erased as well.

        A filter applies to them only if it has times and nothing else: other conditions are about
        memories, and it must not erase more than it says.
        """
        agent_key = names.agent_key(conn, self.caller.agent_id)
        condition, since_us, until_us = self.condition, None, None
        if self.ids is None and condition is not None and _has_only(condition, _TIMES):
            since_us = to_us(condition.since)
            until_us = to_us(condition.until)
        selection = (() if self.ids is None else self.ids, since_us, until_us)
        return _Learnings(
            agent_key,
            learnings.list_proofs(conn, LEARNINGS, agent_key, *selection),
            learnings.list_proofs(conn, PATTERNS, agent_key, *selection),
        )

    def messages(self, conn: Reading) -> list[int]:
        """Return the text keys of messages to erase: of a session, of a time span, or of both."""
        span = self.span(conn)
        return [] if span is None else session_messages.list_texts(conn, span)

    def span(self, conn: Reading) -> SessionSpan | None:
        """Return the session or time span that is erased as a whole, None for other requests."""
        condition = self.condition
        if condition is None or not _has_only(condition, _TIMES | {"session_id"}):
            return None
        return SessionSpan(
            names.agent_key(conn, self.caller.agent_id),
            condition.session_id,
            to_us(condition.since),
            to_us(condition.until),
        )


@dataclass
class ErasureSteps:
    """The steps of an erasure, each one transaction: first its messages, then *rows*."""

    erasure: Erasure
    rows: Sequence[tuple[int, str, bytes]]
    messages: Sequence[int]
    clock: Clock
    size: int = ERASE_ROWS
    done: int = 0
    messages_done: int = 0

    async def run(self, db: Database) -> ForgetResult | None:
        """Run the next step; return None, or the reply of the last step, which also stores it."""
        caller = self.erasure.caller
        if self.messages_done < len(self.messages):
            # Before the memories: erasing those erases some messages too, uncounted.
            await db.write(caller, self._erase_messages)
            self.messages_done += ERASE_MESSAGES
            return None
        if self.done + self.size >= len(self.rows):
            return await db.write(caller, self._finish, reply=ForgetResult)
        await db.write(caller, self._erase_rows)
        self.done += self.size
        return None

    def _erase_messages(self, conn: Writing) -> None:
        end = self.messages_done + ERASE_MESSAGES
        session_messages.erase(conn, self.messages[self.messages_done : end])
        scrub.note_residue(conn)

    def _erase_rows(self, conn: Writing) -> None:
        keys = [key for key, _, _ in self.rows[self.done : self.done + self.size]]
        check_may_change(conn, self.erasure.caller, keys)
        removal.erase(conn, keys, self.clock.now_us(), doubtful=True)
        if keys:
            scrub.note_residue(conn)

    def _finish(self, conn: Writing) -> ForgetResult:
        self._erase_rows(conn)
        proofs, now_us = self.erasure.learnings(conn), self.clock.now_us()
        learnings.erase(conn, LEARNINGS, proofs.agent_key, _ids_of(proofs.lessons), now_us)
        learnings.erase(conn, PATTERNS, proofs.agent_key, _ids_of(proofs.patterns), now_us)
        span = self.erasure.span(conn)
        emptied = span is not None and sessions.erase_empty(conn, span)
        if proofs.lessons or proofs.patterns or emptied:
            scrub.note_residue(conn)
        return build_receipt(self.rows, proofs, len(self.messages))


def list_first_lines(conn: Reading, rows: Sequence[tuple[int, str, bytes]]) -> tuple[str, ...]:
    """Return the beginnings of the first FORGOTTEN_TEXTS_MAX texts, for a person to confirm."""
    keys = [key for key, _, _ in rows[:FORGOTTEN_TEXTS_MAX]]
    entries = memories.by_keys(conn, keys)
    lines = (
        one_line(screen(entries[key].content).text)[:EXCERPT_CHARS] if key in entries else ""
        for key in keys
    )
    return tuple(line or "(nothing that can be shown)" for line in lines)


class _Learnings(NamedTuple):
    """The ids and hashes of an agent's lessons and patterns to erase."""

    agent_key: int
    lessons: list[Proof]
    patterns: list[Proof]


def _ids_of(proofs: Sequence[Proof]) -> list[str]:
    return [proof.public_id for proof in proofs]


def build_receipt(
    rows: Sequence[tuple[int, str, bytes]], erased: _Learnings, messages: int
) -> ForgetResult:
    """Return the result for these *rows*, learnings and number of *messages*."""
    memory_proofs = [Proof(memory_id, row_hash) for _, memory_id, row_hash in rows]
    proofs = [*memory_proofs, *erased.lessons, *erased.patterns]
    digest = hashlib.sha256()
    for proof in proofs:
        digest.update(proof.public_id.encode() + proof.row_hash)
    return ForgetResult(
        count=len(proofs),
        messages=messages,
        ids=tuple(proof.public_id for proof in proofs[:FORGOTTEN_IDS_MAX]),
        proof=digest.hexdigest(),
    )


def _has_only(condition: MemoryFilter, fields: AbstractSet[str]) -> bool:
    return not any(
        getattr(condition, name) for name in MemoryFilter.model_fields if name not in fields
    )
