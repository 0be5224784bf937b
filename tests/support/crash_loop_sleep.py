"""The part of :mod:`support.crash_loop` that runs nights and naps, and detects partial ones (P3).

A night is checked by what is visible over the socket: a summary names its sources, each of which
must be hidden; each hidden memory must be named by one summary, or belong to a compressed session.
A nap is stored completely or not at all, which its counts of messages and facts show.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from support.daemon import WAIT_S

from memd.base.errors import InvalidStateError, MemdError, NotFoundError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.base.paths import Paths
from memd.client import Client
from memd.text.importance import is_kept

SLEEPS = ("night", "nap", "undo")
MESSAGES = 7  # of a nap; each is one fact
HIDDEN = ("compressed", "archived")

_CRATE = re.compile(r"Crate (\d+) holds")


class Sleeper:
    """Asks for nights, naps and undoings; remembers what was acknowledged."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self.sessions: list[str] = []
        """Told in, first to last."""
        self.napped: dict[str, bool] = {}
        """By session, whether its nap was acknowledged."""
        self.halves: set[str] = set()
        self.acks = 0

    def work(self, phase: str, seed: int) -> None:
        """Sleep in the way of *phase* until the daemon is dead."""
        chance = random.Random(seed)
        key = self._paths.operator_key
        with suppress(MemdError), Client(self._paths.socket, timeout=WAIT_S, key=key) as client:
            while True:
                try:
                    self._sleep(client, phase, chance)
                except InvalidStateError:  # it still goes on with what a kill interrupted
                    time.sleep(0.005)

    def _sleep(self, client: Client, phase: str, chance: random.Random) -> None:
        if phase == "nap":
            self._nap(client)
        elif phase == "night" and chance.random() < 0.3:
            client.call("sleep.compress", {"agent_id": "ada", "force": True, "sessions": 3})
        elif phase == "night":
            client.call("sleep.run", {"agent_id": "ada"})
        else:
            run = client.call("sleep.run", {"agent_id": "ada", "steps": ["consolidation"]})
            client.call("sleep.undo", {"run_id": run["run_id"]})
        self.acks += 1

    def _nap(self, client: Client) -> None:
        session_id = f"talk{len(self.napped)}"
        self.napped[session_id] = False
        messages = [
            {"role": "user", "content": f"Paint fence {session_id}-{number} green by Friday."}
            for number in range(MESSAGES)
        ]
        client.call(
            "sleep.consolidate", {"agent_id": "ada", "session_id": session_id, "messages": messages}
        )
        self.napped[session_id] = True

    # What must hold after each start.

    def judge(self, client: Client, *, newest: int) -> None:
        """Look at the *newest* sessions and naps for halves."""
        for session_id in self.sessions[-newest:]:
            self.halves.update(_groups(session_id, _all(client, session_id)))
        for session_id in list(self.napped)[-newest:]:
            self.halves.update(self._naps(client, session_id))

    def _naps(self, client: Client, session_id: str) -> Iterator[str]:
        messages = 0
        with suppress(NotFoundError):
            params = {"agent_id": "ada", "session_id": session_id}
            messages = len(client.call("session.messages", params)["items"])
        facts = [entry for entry in _all(client, session_id) if not _is_summary(entry)]
        if messages not in {MESSAGES, 0}:
            yield f"{session_id}: {messages} of {MESSAGES} messages"
        if self.napped[session_id] and not messages:
            yield f"{session_id}: an acknowledged nap is gone"
        if bool(messages) != bool(facts):
            yield f"{session_id}: {messages} messages, {len(facts)} facts"


def _all(client: Client, session_id: str) -> list[dict[str, Any]]:
    """Return all of a session's memories, the hidden ones too, and what stands in front of them.

    A summary of several sessions belongs to none and is only shown for them. A night may go
    on meanwhile: what is returned was so at one moment, between two looks that saw the same.
    """
    while True:
        shown = _retrieved(client, session_id)
        rows = _retrieved(client, session_id, include_compressed=True)
        if shown == _retrieved(client, session_id):
            ids = {row["id"] for row in rows}
            return [*rows, *(entry for entry in shown if entry["id"] not in ids)]


def _retrieved(client: Client, session_id: str, **more: Any) -> list[dict[str, Any]]:
    params = {"agent_id": "ada", "session_id": session_id, "limit": PAGE_ITEMS_MAX, **more}
    entries: list[dict[str, Any]] = client.call("memory.retrieve", params)
    return entries


def _is_summary(entry: dict[str, Any]) -> bool:
    return bool({"consolidated", "compressed"}.intersection(entry["metadata"]["tags"]))


def _groups(session_id: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what is half in a session."""
    by_crate = {
        _CRATE.findall(entry["content"])[0]: entry for entry in entries if not _is_summary(entry)
    }
    lists = [
        _CRATE.findall(entry["content"])
        for entry in entries
        if "consolidated" in entry["metadata"]["tags"]
    ]
    shortened = sum("compressed" in entry["metadata"]["tags"] for entry in entries)
    named = [crate for crates in lists for crate in crates]
    for crate in named:
        if crate in by_crate and by_crate[crate]["state"] not in HIDDEN:
            yield f"{session_id}: crate {crate} is in a summary and beside it"
    for crate, entry in by_crate.items():
        fronts = named.count(crate) or min(shortened, 1)
        if entry["state"] in HIDDEN and is_kept(entry["importance"] or 0.0) and fronts != 1:
            yield f"{session_id}: crate {crate} is hidden behind {fronts} summaries"
