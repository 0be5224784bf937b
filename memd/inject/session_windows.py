"""Leave memories out of a prompt that its session already has in its context window.

Until a window is emptied, it holds the session's messages, the memories that naps made of them, and
the memories that prompts gave it (``store/session/injections.py``). The ids that a prompt gives are
recorded in memory at once, and in the file after the answer was sent, so the write delays nobody.
If that write fails, or the daemon dies before it, a memory is repeated. The same question within
REPEATED_US gets the same answer, since the client may not have received the first.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakValueDictionary

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.domain.caller import Caller
from memd.domain.inject import BriefRequest, PrepareRequest
from memd.domain.recall import RecallResult
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.knowledge import KnowledgeItem, RelevantKnowledge
from memd.store.file.database import Database
from memd.store.session import injections
from memd.store.session.injections import WindowContent, WindowKey

REPEATED_US = 60_000_000
"""An equal question within this time is a retry."""
SESSIONS_MAX = 256
"""Sessions whose last question is remembered."""
SEEN_SHARE = 0.3
"""Least relevance of a new memory, as a share of the best one that the window already has.

The best memory passed recall's gate for all others. If the window has it already, memories that are
hardly related to the question must not be injected without it.
"""
TURNS_TO_SEND = 2
"""Turns of the event loop until an answer is sent (``serve/connection.py``)."""

PromptRequest = PrepareRequest | BriefRequest


class LastQuestion(NamedTuple):
    """A window's last question: its hash, its monotonic time, and the ids that its answer gave."""

    question_hash: bytes
    at_us: int
    ids: frozenset[str]


@dataclass
class SessionWindows:
    """The contents of all sessions' windows, including ids that are not written to the file yet."""

    db: Database
    clock: Clock
    _last: OrderedDict[WindowKey, LastQuestion] = field(default_factory=OrderedDict)
    _notes: dict[asyncio.Task[None], tuple[WindowKey, frozenset[str]]] = field(default_factory=dict)
    """Ids that a task has still to write."""
    _locks: WeakValueDictionary[WindowKey, asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    def lock(self, key: WindowKey) -> asyncio.Lock:
        """Return the lock to hold from :meth:`look` to :meth:`note`.

        An assistant may ask for its brief and its first prompt at the same time; without the
        lock both would give the same memories.
        """
        return self._locks.setdefault(key, asyncio.Lock())

    async def look(
        self, key: WindowKey, request: PromptRequest, ids: Sequence[str]
    ) -> WindowContent:
        """Return which of *ids* the window holds, without those given to the same question."""
        pending = [note_ids for note_key, note_ids in self._notes.values() if note_key == key]
        window = await self.db.read(injections.find_in_window, key, ids)
        injected = window.injected.union(*pending).intersection(ids)
        last = self._find_repeat(key, _hash(request))
        return WindowContent(window.own, injected if last is None else injected - last.ids)

    def note(
        self, caller: Caller, key: WindowKey, request: PromptRequest, ids: Iterable[str]
    ) -> None:
        """Record that *ids* were given to the session; write them in the background."""
        injected, question = frozenset(ids), _hash(request)
        last = self._find_repeat(key, question)
        if last is not None:
            # A further retry must also get what only this answer gives.
            self._last[key] = last._replace(ids=last.ids | injected)
        else:
            self._last[key] = LastQuestion(question, self.clock.monotonic_us(), injected)
            self._last.move_to_end(key)
            if len(self._last) > SESSIONS_MAX:
                self._last.popitem(last=False)
        if injected:
            at_us = self.clock.now_us()
            task = asyncio.create_task(self._write(caller, key, sorted(injected), at_us))
            self._notes[task] = key, injected
            task.add_done_callback(self._notes.pop)

    async def settle(self) -> None:
        """Wait until all recorded ids are written."""
        while self._notes:
            await asyncio.wait(list(self._notes))

    def _find_repeat(self, key: WindowKey, question_hash: bytes) -> LastQuestion | None:
        """Return the last question if this one is its retry, else None."""
        last = self._last.get(key)
        if last is None or last.question_hash != question_hash:
            return None
        return last if self.clock.monotonic_us() - last.at_us <= REPEATED_US else None

    async def _write(self, caller: Caller, key: WindowKey, ids: Sequence[str], at_us: int) -> None:
        """Write *ids* after the answer was sent and before the next request is read.

        The next request may empty the window, and must find the session's row then.
        """
        for _ in range(TURNS_TO_SEND):
            await asyncio.sleep(0)
        try:
            await self.db.write(
                caller, lambda conn: injections.record(conn, key, caller.project_id, ids, at_us)
            )
        except MemdError as error:
            log.warning("what a prompt gave is not noted", kind=error.kind)


def _hash(request: PromptRequest) -> bytes:
    """Return the hash of a question, which may be a long text."""
    text = f"{type(request).__name__} {request.model_dump_json()}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


@dataclass
class PromptWindow:
    """The window of one prompt's session; it is empty without a session."""

    windows: SessionWindows | None
    caller: Caller
    request: PromptRequest
    left_out: dict[str, None] = field(default_factory=dict)
    """The ids that were left out, in order. A dict serves as an ordered set."""
    _best_seen: float = 0.0
    """The highest relevance of the session's own memories that were left out."""
    _in_window: WindowContent = field(default_factory=WindowContent)
    _looked_up: set[str] = field(default_factory=set)

    @property
    def _key(self) -> WindowKey | None:
        session_id = self.request.session_id
        if self.windows is None or session_id is None:
            return None
        return WindowKey(self.caller.agent_id, self.caller.client, session_id)

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the window's lock: other prompts of the session wait."""
        key = self._key
        if self.windows is None or key is None:
            yield
            return
        async with self.windows.lock(key):
            yield

    async def drop_own(self, result: RecallResult) -> RecallResult:
        """Return *result* without the session's own memories, so that others take their places."""
        chunks = [chunk for chunk in result.memories if not chunk.preference]
        window = await self._look_up([chunk.id for chunk in chunks])
        if not window.own:
            return result
        seen = [chunk for chunk in chunks if chunk.id in window.own]
        self.left_out |= dict.fromkeys(chunk.id for chunk in seen)
        self._best_seen = max(
            self._best_seen, *(chunk.relevance_score or 0.0 for chunk in seen), 0.0
        )
        others = tuple(
            memory for memory in result.memories if memory.preference or memory.id not in window.own
        )
        return result.model_copy(update={"memories": others})

    async def drop_seen(
        self, scored: Sequence[ScoredMemory], knowledge: RelevantKnowledge
    ) -> tuple[tuple[ScoredMemory, ...], RelevantKnowledge]:
        """Return *scored* and *knowledge* without the items that the session has already.

        Memories that are much less relevant than the best of those are dropped, too (SEEN_SHARE).
        """
        knowledge_ids = [item.id for items in knowledge for item in items]
        window = await self._look_up([*(memory.entry.id for memory in scored), *knowledge_ids])

        def is_new(item_id: str) -> bool:
            if item_id in window.own or item_id in window.injected:
                self.left_out[item_id] = None
                return False
            return True

        def filter_new(items: tuple[KnowledgeItem, ...]) -> tuple[KnowledgeItem, ...]:
            return tuple(item for item in items if is_new(item.id))

        new = [memory for memory in scored if is_new(memory.entry.id)]
        seen = (memory.relevance_score for memory in scored if memory.entry.id in self.left_out)
        relevance_min = SEEN_SHARE * max(self._best_seen, *seen, 0.0)
        memories = tuple(memory for memory in new if memory.relevance_score >= relevance_min)
        return memories, RelevantKnowledge(*map(filter_new, knowledge))

    async def filter_unseen(self, ids: Sequence[str]) -> frozenset[str]:
        """Return those of *ids* that the session does not have yet."""
        window = await self._look_up(ids)
        seen = [
            memory_id
            for memory_id in ids
            if memory_id in window.own or memory_id in window.injected
        ]
        self.left_out |= dict.fromkeys(seen)
        return frozenset(ids).difference(seen)

    def note(self, ids: Iterable[str]) -> None:
        """Record that the prompt gives *ids* to the session."""
        if self.windows is not None and (key := self._key) is not None:
            self.windows.note(self.caller, key, self.request, ids)

    async def _look_up(self, ids: Sequence[str]) -> WindowContent:
        """Return which of *ids*, and of all ids looked up before, are in the window.

        Each id is looked up only once.
        """
        key = self._key
        new = [memory_id for memory_id in ids if memory_id not in self._looked_up]
        if self.windows is not None and key is not None and new:
            window = await self.windows.look(key, self.request, new)
            self._in_window = WindowContent(
                self._in_window.own | window.own, self._in_window.injected | window.injected
            )
            self._looked_up.update(new)
        return self._in_window
