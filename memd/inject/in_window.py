"""What a session has in its context window already is not put into its prompts again.

That is what it said itself, what naps made of it, and what its prompts gave it, until its
window is emptied (``store/session/injections.py``). What was given is known at once and
written when the answer has left, which it would hold up; a note that fails, or that a crash
forestalls, costs a repetition. The same question once more within a short time is answered
as before: whoever asks again had no answer.
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
from memd.inject.known import Fits, KnownText
from memd.store.file.database import Database
from memd.store.session import injections
from memd.store.session.injections import InWindow, WindowKey

REPEATED_US = 60_000_000  # what comes again so soon is the same question, sent again
SESSIONS_MAX = 256  # whose last question is known
TURNS_TO_SEND = 2  # of the loop, in which the answer leaves: ``serve/connection.py``

Asked = PrepareRequest | BriefRequest


class Last(NamedTuple):
    """The last question of a window, by its hash, when it was asked, and what it was given."""

    asked: bytes
    at_us: int
    ids: frozenset[str]


@dataclass
class SessionWindows:
    """Who was given what. Owns the notes that are on their way into the file."""

    db: Database
    clock: Clock
    _last: OrderedDict[WindowKey, Last] = field(default_factory=OrderedDict)
    _notes: dict[asyncio.Task[None], tuple[WindowKey, frozenset[str]]] = field(default_factory=dict)
    _turns: WeakValueDictionary[WindowKey, asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    def turn(self, place: WindowKey) -> asyncio.Lock:
        """Return what one who looks and then notes holds meanwhile.

        An assistant may ask for its brief and its first prompt at the same time; neither would
        see what the other one is about to be given.
        """
        return self._turns.setdefault(place, asyncio.Lock())

    async def look(self, place: WindowKey, asked: Asked, ids: Sequence[str]) -> InWindow:
        """Return which of *ids* the session has; what the same question was given is news."""
        on_their_way = [given for at, given in self._notes.values() if at == place]
        shown_before = await self.db.read(injections.in_window, place, ids)
        given = shown_before.given.union(*on_their_way).intersection(ids)
        last = self._repeated(place, _hash(asked))
        return InWindow(shown_before.own, given if last is None else given - last.ids)

    def note(self, caller: Caller, place: WindowKey, asked: Asked, ids: Iterable[str]) -> None:
        """Note what was given; nothing is waited for."""
        given, question = frozenset(ids), _hash(asked)
        if self._repeated(place, question) is None:
            self._last[place] = Last(question, self.clock.monotonic_us(), given)
            self._last.move_to_end(place)
            if len(self._last) > SESSIONS_MAX:
                self._last.popitem(last=False)
        if given:
            at_us = self.clock.now_us()
            task = asyncio.create_task(self._write(caller, place, sorted(given), at_us))
            self._notes[task] = place, given
            task.add_done_callback(self._notes.pop)

    async def settled(self) -> None:
        """Wait until what was given is noted."""
        while self._notes:
            await asyncio.wait(list(self._notes))

    def _repeated(self, place: WindowKey, asked: bytes) -> Last | None:
        """Return what the last question was given, if this is that one, sent again."""
        last = self._last.get(place)
        if last is None or last.asked != asked:
            return None
        return last if self.clock.monotonic_us() - last.at_us <= REPEATED_US else None

    async def _write(
        self, caller: Caller, place: WindowKey, ids: Sequence[str], at_us: int
    ) -> None:
        """Write what was given when the answer has left, and before what comes next is read.

        No more turns than that: a window that is emptied next must find the session.
        """
        for _ in range(TURNS_TO_SEND):
            await asyncio.sleep(0)
        try:
            await self.db.write(
                caller, lambda conn: injections.add(conn, place, caller.project_id, ids, at_us)
            )
        except MemdError as error:
            log.warning("what a prompt gave is not noted", kind=error.kind)


def _hash(asked: Asked) -> bytes:
    """Return what is the same for the same question; a question may be long."""
    text = f"{type(asked).__name__} {asked.model_dump_json()}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


@dataclass
class PromptWindow:
    """One prompt's view of its session's window; without a session nothing is in it."""

    windows: SessionWindows | None
    caller: Caller
    asked: Asked
    left_out: dict[str, None] = field(default_factory=dict)
    """The ids of what was left out, in the order in which that was seen."""
    _known: InWindow = field(default_factory=InWindow)
    _looked: set[str] = field(default_factory=set)

    @property
    def _place(self) -> WindowKey | None:
        session_id = self.asked.session_id
        if self.windows is None or session_id is None:
            return None
        return WindowKey(self.caller.agent_id, self.caller.client, session_id)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until nobody else is about to give this session something, and hold it off."""
        place = self._place
        if self.windows is None or place is None:
            yield
            return
        async with self.windows.turn(place):
            yield

    async def foreign(self, result: RecallResult) -> RecallResult:
        """Return *result* without what the session said itself: that must not take a place."""
        chunks = [chunk for chunk in result.memories if not chunk.preference]
        known = await self._look([chunk.id for chunk in chunks])
        if not known.own:
            return result
        self.left_out |= dict.fromkeys(chunk.id for chunk in chunks if chunk.id in known.own)
        kept = tuple(
            each for each in result.memories if each.preference or each.id not in known.own
        )
        return result.model_copy(update={"memories": kept})

    async def news(
        self, scored: Sequence[ScoredMemory], fits: Fits
    ) -> tuple[tuple[ScoredMemory, ...], Fits]:
        """Return what of the chosen the session does not have yet."""
        texts = [known.id for kind in fits for known in kind]
        known = await self._look([*(memory.entry.id for memory in scored), *texts])

        def new(item_id: str) -> bool:
            if item_id in known.own or item_id in known.given:
                self.left_out[item_id] = None
                return False
            return True

        def kept(kind: tuple[KnownText, ...]) -> tuple[KnownText, ...]:
            return tuple(known for known in kind if new(known.id))

        memories = tuple(memory for memory in scored if new(memory.entry.id))
        return memories, Fits(*map(kept, fits))

    async def unread(self, ids: Sequence[str]) -> frozenset[str]:
        """Return which of *ids* the session does not have yet."""
        known = await self._look(ids)
        had = [each for each in ids if each in known.own or each in known.given]
        self.left_out |= dict.fromkeys(had)
        return frozenset(ids).difference(had)

    def note(self, ids: Iterable[str]) -> None:
        """Note that the session is given *ids*."""
        if self.windows is not None and (place := self._place) is not None:
            self.windows.note(self.caller, place, self.asked, ids)

    async def _look(self, ids: Sequence[str]) -> InWindow:
        """Return what of *ids* is in the window; each is looked up once."""
        place = self._place
        new = [each for each in ids if each not in self._looked]
        if self.windows is not None and place is not None and new:
            places = await self.windows.look(place, self.asked, new)
            self._known = InWindow(self._known.own | places.own, self._known.given | places.given)
            self._looked.update(new)
        return self._known
