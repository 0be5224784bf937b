"""Whether what naps keep comes back: ``python -m tests.bench.nap_retrieval DIR [--split all]``.

DIR holds the recorded sessions, in the order of their names one team's half year. Each
is reported as ended to the daemon's own rooms, in this process and with the clock
moved to its day, as one agent's in one project; the daemon reads it as a transcript
and naps. Before a session is reported, what it asks for first is asked, as its user's
messages are by a client that prepares each prompt: how much of what it needs of
earlier sessions (``labels/pairs.json``) is in those prompts. The same is asked again in a
session that is briefed at its beginning and told by its prompts what the brief left. A
week after the last one, each labelled item's question, in other words than the item's, is
asked from a new session of the project, each from one of its own: is the item in the
default prompt, whole in one memory or preference of it? Beside it what plain cosine has
among its first five and ten of the same memories, and whether any memory there is holds
the item at all. ``--project NAME`` asks the same of a public repository
(``labels/projects``): DIR is then a checkout of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.bench_daemon import model_dir, save_result
from bench.nap_scores import PER_TOKENS, holds
from bench.night import MovedClock
from bench.reader_labels import PROJECTS, SPLITS, Item, Labels, Pair, labels, project, session_lines
from bench.transcripts import Message, exported
from memd.base.limits import PAGE_ITEMS_MAX
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.inject import BriefRequest, PrepareRequest
from memd.domain.memory import MemoryEntry, MemoryFilter
from memd.domain.settings.settings import Settings
from memd.serve.rooms import DaemonRooms
from memd.serve.rooms import rooms as built
from memd.signals.usage import Usage
from memd.sleep.transcript.consolidator import MemoryConsolidator
from memd.view.view import ENTRY_TAG

AGENT, TEAM = "bench", "the-team"
CUTS = (5, 10)
LATER = timedelta(days=7)
DATED = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\dZ")
SHOWN = re.compile(rf"<{ENTRY_TAG}>\n(.*?)\n</{ENTRY_TAG}>", re.DOTALL)
MOMENT_CHARS = len("2026-01-16_16-26-02Z")
WAYS = ("first requests", "brief", "brief and requests")


class Prompt(NamedTuple):
    """What one question brought: texts, how many are memories, and what cosine ranks first."""

    texts: tuple[str, ...]
    entries: int
    nearest: tuple[str, ...]
    tokens: int = 0


class Asked(NamedTuple):
    """One item that is needed, in what way it came, of all that was stored."""

    split: str
    item: Item
    there: bool
    brought: bool
    by_cosine: dict[int, bool]


@dataclass
class Stored:
    """The memories there are, and their vectors; those of the same text are one."""

    texts: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def nearest(self, vector: NDArray[np.float32], count: int) -> tuple[str, ...]:
        """Return the texts whose vectors are nearest, nearest first."""
        texts = list(dict.fromkeys(self.texts.values()))
        if not texts:
            return ()
        cosines = np.stack([self.vectors[text] for text in texts]) @ vector
        return tuple(texts[place] for place in np.argsort(-cosines)[:count])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.nap_retrieval", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=(*SPLITS, "all"), default="fit")
    names = sorted(path.stem for path in PROJECTS.glob("*.jsonl"))
    parser.add_argument("--project", choices=names, help="a public repository, in place of a split")
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    if options.project is None:
        labelled, which = labels(), options.split
    else:
        labelled, which = project(options.project), options.project
    result = asyncio.run(measure(options.folder, which, labelled))
    for name, row in result.items():
        print(f"{name}: {json.dumps(row)}")
    save_result(result, options.out)


async def measure(folder: Path, which: str, labelled: Labels) -> dict[str, Any]:
    """Return the figures of a part or of ``all``, all sessions below *folder* in one store."""
    sessions = dated(exported(folder, sidechains=False))
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        async with AsyncExitStack() as stack:
            rooms, clock = await rooms_of(Path(made), sessions, stack)
            team = Team(rooms, clock, Path(made), folder, which, labelled)
            return await team.lived(sessions)


def dated(sessions: dict[str, list[Message]]) -> dict[str, list[Message]]:
    """Return the sessions whose names tell the second; of those of one second the longest."""
    names = [name for name in sessions if DATED.match(name)]
    names.sort(key=lambda name: len(sessions[name]))
    last = {name[:MOMENT_CHARS]: name for name in names}
    return {name: sessions[name] for name in sorted(last.values())}


async def rooms_of(
    made: Path, sessions: Iterable[str], stack: AsyncExitStack
) -> tuple[DaemonRooms, MovedClock]:
    """Return the daemon's rooms below *made*, on the day of the first of *sessions*."""
    clock = MovedClock()
    _move(clock, _day(min(sessions)))
    settings = {"usage": {"transcript_roots": [str(made)]}}
    environ = {"MEMD_MODEL_DIR": str(model_dir())} | os.environ
    paths = Paths.resolve(home=made, environ=environ)
    paths.data_dir.mkdir(parents=True, mode=0o700)
    return await built(Settings.model_validate(settings), paths, clock, stack), clock


@dataclass
class Team:
    """The rooms of one team's memory, and the half year that it lives through."""

    rooms: DaemonRooms
    clock: MovedClock
    made: Path
    folder: Path
    which: str
    labelled: Labels
    stored: Stored = field(default_factory=Stored)

    async def lived(self, sessions: dict[str, list[Message]]) -> dict[str, Any]:
        needing = {pair.session: pair for pair in self.labelled.pairs}
        needs: dict[str, list[Asked]] = {way: [] for way in WAYS}
        prompts: dict[str, list[Prompt]] = {way: [] for way in WAYS}
        for name in sorted(sessions):
            _move(self.clock, _day(name))
            if name in needing:
                for way, made in (await self.begun(needing[name], sessions[name])).items():
                    prompts[way] += made
                    needs[way] += [
                        self._asked(where, item, made)
                        for where, item in self.labelled.needs(needing[name])
                        if self.which in {where, "all"}
                    ]
            await self.end(name, sessions[name])
        _move(self.clock, _day(max(sessions)) + LATER)
        asked, prompted = await self.questions()
        named = [*SPLITS, self.which]
        parts = {part: [each for each in asked if each.split == part] for part in named}
        tokens = sum(map(MemoryConsolidator.estimate_tokens, sessions.values()))
        memories = len(self.stored.texts)
        return {
            "stored": {
                "sessions": len(sessions),
                "tokens": tokens,
                "memories": memories,
                "memories_per_30k": round(PER_TOKENS * memories / tokens, 1),
            },
            **{f"asked, {part}": recalled(rows) for part, rows in parts.items() if rows},
            "asked, all": recalled(asked) | sizes(prompted),
            **{
                f"{way}, {part}": recalled(rows)
                for way, each in needs.items()
                for part in named
                if (rows := [need for need in each if need.split == part])
            },
            **{f"{way}, all": recalled(needs[way]) | sizes(prompts[way]) for way in WAYS},
        }

    async def ended(self, sessions: dict[str, list[Message]]) -> None:
        """Let all sessions end, each on its day, and a week pass."""
        for name in sorted(sessions):
            _move(self.clock, _day(name))
            await self.end(name, sessions[name])
        _move(self.clock, _day(max(sessions)) + LATER)

    async def begun(self, pair: Pair, messages: Sequence[Message]) -> dict[str, list[Prompt]]:
        """Return what a session's first requests bring, and what its brief and they do."""
        first = self._first(pair, messages)
        brief = await self.brief(pair.session)
        return {
            "first requests": [await self.prompt(text, f"{pair.session} 2") for text in first],
            "brief": [brief],
            "brief and requests": [
                brief,
                *[await self.prompt(text, pair.session) for text in first],
            ],
        }

    async def brief(self, session: str) -> Prompt:
        caller = Caller(agent_id=AGENT, session_id=session, project_id=TEAM, method="bench")
        request = BriefRequest(session_id=session, project_id=TEAM)
        made = await self.rooms.briefs.brief(caller, request)
        shown = [text for each in made.messages for text in SHOWN.findall(each.content)]
        return Prompt(tuple(shown), len(made.items), (), made.tokens_used)

    async def end(self, name: str, messages: Sequence[Message]) -> None:
        """Let the session end, and wait until what was learnt of it can be found."""
        path = self.made / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(message)}\n" for message in messages), "utf-8")
        usage = Usage(
            source="bench", session_id=name, transcript_path=str(path), event="SessionEnd"
        )
        caller = Caller(agent_id=AGENT, session_id=name, project_id=TEAM, method="usage.report")
        naps, ingest = self.rooms.naps, self.rooms.ingest
        await naps.watcher.report(caller, usage)
        await naps.watcher.settle()
        await ingest.queue.drain()
        self.stored.texts = {each.id: each.content for each in await self._listed()}
        new = [text for text in self.stored.texts.values() if text not in self.stored.vectors]
        for text, vector in zip(new, await self.rooms.embedder.embed(new, bulk=True), strict=True):
            self.stored.vectors[text] = np.frombuffer(vector, "<f4")

    async def questions(self) -> tuple[list[Asked], list[Prompt]]:
        """Ask for every item, from a session that has said nothing yet."""
        asked: list[Asked] = []
        prompts: list[Prompt] = []
        for name, reading in self.labelled.readings.items():
            if self.which not in {self.labelled.parts[name], "all"}:
                continue
            for item in reading.items:
                prompt = await self.prompt(item.asked, f"a-new-session-{len(prompts)}")
                prompts.append(prompt)
                asked.append(self._asked(self.labelled.parts[name], item, [prompt]))
        return asked, prompts

    async def prompt(self, query: str, session: str) -> Prompt:
        caller = Caller(agent_id=AGENT, session_id=session, project_id=TEAM, method="bench")
        request = PrepareRequest(query=query, session_id=session, project_id=TEAM)
        made = await self.rooms.inject.prepare(caller, request)
        shown = "\n".join(message.content for message in made.messages)
        texts = [self.stored.texts[each.id] for each in made.memories]
        prefers = [each.value for each in await self.rooms.recall.preferences(caller)]
        texts += [text for text in prefers if text in shown]
        [vector] = await self.rooms.embedder.embed([query])
        nearest = self.stored.nearest(np.frombuffer(vector, "<f4"), max(CUTS))
        return Prompt(tuple(texts), len(made.memories), nearest, made.tokens_used)

    async def _listed(self) -> list[MemoryEntry]:
        caller = Caller(agent_id=AGENT, method="bench")
        rows: list[MemoryEntry] = []
        after: str | None = None
        while True:
            page, after = await self.rooms.recall.list(
                caller, MemoryFilter(), after, PAGE_ITEMS_MAX
            )
            rows += page
            if after is None:
                return rows

    def _first(self, pair: Pair, messages: Sequence[Message]) -> list[str]:
        """Return the user's messages in which the pair's lines stand."""
        lines = session_lines(self.folder, [pair.session])[pair.session]
        messages_of_user = [str(each["content"]) for each in messages if each["role"] == "user"]
        first = (lines[line - 1].strip() for line in pair.lines)
        whole = (next((text for text in messages_of_user if line in text), line) for line in first)
        return list(dict.fromkeys(whole))

    def _asked(self, where: str, item: Item, prompts: Iterable[Prompt]) -> Asked:
        made = list(prompts)
        by_cosine = {
            cut: _any_holds((text for each in made for text in each.nearest[:cut]), item)
            for cut in CUTS
        }
        brought = _any_holds((text for each in made for text in each.texts), item)
        return Asked(where, item, _any_holds(self.stored.texts.values(), item), brought, by_cosine)


def recalled(rows: Sequence[Asked]) -> dict[str, Any]:
    """Return by count and by weight how many items are stored, brought, and near."""
    weight = sum(row.item.importance for row in rows)
    by_name = {
        "stored": [row.item for row in rows if row.there],
        "in_prompt": [row.item for row in rows if row.brought],
        **{f"cosine_{cut}": [row.item for row in rows if row.by_cosine[cut]] for cut in CUTS},
    }
    return {"items": len(rows)} | {
        name: [len(items), round(sum(item.importance for item in items) / max(weight, 1), 3)]
        for name, items in by_name.items()
    }


def sizes(prompts: Sequence[Prompt]) -> dict[str, Any]:
    entries = sum(prompt.entries for prompt in prompts)
    prefers = sum(len(prompt.texts) for prompt in prompts) - entries
    return {
        "prompts": len(prompts),
        "entries_a_prompt": round(entries / max(len(prompts), 1), 1),
        "tokens_a_prompt": round(sum(each.tokens for each in prompts) / max(len(prompts), 1)),
        "preferences_a_prompt": round(prefers / max(len(prompts), 1), 1),
        "refused": sum(not prompt.entries for prompt in prompts),
    }


def _any_holds(texts: Iterable[str], item: Item) -> bool:
    return any(holds(text, item) for text in texts)


def _move(clock: MovedClock, to: datetime) -> None:
    clock.ahead = timedelta()
    clock.ahead = to - datetime.fromtimestamp(clock.now_us() / 1e6, UTC)


def _day(name: str) -> datetime:
    """Return when the session of this name began."""
    return datetime.strptime(name[:MOMENT_CHARS], "%Y-%m-%d_%H-%M-%SZ").replace(tzinfo=UTC)


if __name__ == "__main__":
    main()
