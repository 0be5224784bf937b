"""Random writes and forgettings, and the words that must be erased afterwards."""

from __future__ import annotations

import asyncio
import random
import re
import sys
from pathlib import Path

from support.store import ADA, a_house, stored, tell

from memd.backends.rooms import Rooms
from memd.domain.memory import MemoryUpdate

_PLAIN = (
    "porch", "boat", "harbour", "winter", "ledger", "garden", "kettle", "violin", "lantern",
    "meadow", "recipe", "ticket", "window", "station", "orchard", "button", "pencil", "saddle",
    "carpet", "bottle", "engine", "mirror", "feather", "candle", "bridge",
)  # fmt: skip
_KEPT_MAX = 400  # memories that may still be forgotten; the others stay for good


class Churn:
    """Writes by chance; ``gone`` are the marks of what was forgotten, each in one memory only."""

    def __init__(self, house: Rooms, seed: int) -> None:
        self.house = house
        self.chance = random.Random(seed)  # nothing here is to be kept secret
        self.gone: list[str] = []
        self._kept: dict[str, list[str]] = {}
        self._trashed: set[str] = set()
        self._number = seed * 1_000_000  # no mark of one seed is another's

    async def write(self) -> None:
        """Write something: a memory, a session of some, a change, a preference, into the trash."""
        ways = (self._store, self._tell, self._change, self._prefer, self._trash)
        (way,) = self.chance.choices(ways, weights=(55, 20, 10, 10, 5))
        await way()

    async def _store(self) -> None:
        marks, text = self._text(self.chance.choice((8, 12, 40, 120, 400)))
        for memory_id in await stored(self.house, text):
            self._keep(memory_id, marks)

    async def _tell(self) -> None:
        texts = [self._text(self.chance.choice((10, 30, 90))) for _ in range(3)]
        session = f"s{self._number // 7}"
        for marks, text in texts:
            for memory_id in await tell(self.house, text, session_id=session):
                self._keep(memory_id, marks)

    async def _change(self) -> None:
        live = [one for one in self._kept if one not in self._trashed]
        if live:
            memory_id = self.chance.choice(live)
            marks, text = self._text(self.chance.choice((8, 60, 300)))
            await self.house.ingest.update(ADA, memory_id, MemoryUpdate(content=text))
            self._kept[memory_id] += marks

    async def _prefer(self) -> None:
        name = f"colour {self.chance.randrange(40)}"
        await self.house.preferences.set(ADA, name, self.chance.choice(_PLAIN))

    async def _trash(self) -> None:
        if self._kept:
            memory_id = self.chance.choice(list(self._kept))
            await self.house.trash.delete(ADA, memory_id)
            self._trashed.add(memory_id)

    async def forget(self) -> bool:
        """Forget one memory, or some; False when there is none."""
        if not self._kept:
            return False
        count = min(len(self._kept), self.chance.choice((1, 1, 1, 4)))
        ids = self.chance.sample(list(self._kept), k=count)
        await self.house.trash.forget(ADA, ids)
        for memory_id in ids:
            self.gone += self._kept.pop(memory_id)
        return True

    def _keep(self, memory_id: str, marks: list[str]) -> None:
        self._kept.setdefault(memory_id, []).extend(marks)
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]

    def _text(self, words: int) -> tuple[list[str], str]:
        """Return a text of *words* words and the marks in it, at its beginning, middle and end."""
        self._number += 1
        marks = [f"qz{self._number}{part}x" for part in "abc"]
        plain = self.chance.choices(_PLAIN, k=words)
        middle = words // 2
        all_words = [marks[0], *plain[:middle], marks[1], *plain[middle:], marks[2]]
        return marks, " ".join(all_words)


async def _run(folder: Path, seed: int) -> None:
    """Write and forget for ever; print the marks of what was forgotten once that is answered."""
    async with a_house(folder / "memd.db") as house:
        churn = Churn(house, seed)
        while True:
            for _ in range(4):
                await churn.write()
            if await churn.forget():
                print(*churn.gone, flush=True)
                churn.gone.clear()


def left(folder: Path, marks: list[str]) -> list[str]:
    """Return which of *marks* any file of memd below *folder* still holds."""
    remains: set[str] = set()
    for path in folder.rglob("*"):
        if path.is_file() and "ballast" not in path.name:
            remains.update(map(bytes.decode, re.findall(rb"qz\d+[abc]x?", path.read_bytes())))
    return [mark for mark in marks if mark in remains or mark[:-1] in remains]


def main() -> None:
    """Run in the folder and with the seed of the command line."""
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2])))
