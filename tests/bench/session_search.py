"""What searching sessions costs.

    python -m tests.bench.session_search DIR --sessions 100 --json OUT

DIR holds recorded sessions in SpecStory's Markdown. They are kept as naps keep them, as
often as it takes, each copy with words of its own, because equal texts are kept once. Then
pairs of words that stand in one message are searched for, and all of it is dropped by age.
The rooms are the daemon's own, in this process, without a model: what is measured is the
store. Fails when a search for the words of a message does not find them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from support.clocks import HeldClock
from support.fakes import HashEmbedder

from bench.bench_daemon import write_result
from bench.scores import quantile
from bench.transcripts import exported
from memd.backends.rooms import Rooms, open_rooms
from memd.domain.caller import Caller
from memd.domain.ingest import SessionQuery
from memd.domain.settings.settings import Settings
from memd.sleep.transcript.messages import StoredMessage, to_stored
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import sources
from memd.store.session import message_index, session_messages
from memd.store.session.session_messages import NewMessage
from memd.text.words import content_words

BY = Caller(agent_id="bench", method="bench")
QUERIES = 200
MEGA = 1_000_000


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.session_search", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(argv)
    figures = asyncio.run(_measured(given.folder, given.sessions))
    write_result(figures, given.json)


async def _measured(folder: Path, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        async with AsyncExitStack() as stack:
            clock, path = HeldClock(), Path(made) / "memd.db"
            no_model = Path(made) / "no model"
            house = await open_rooms(
                Settings(), path, clock, stack, embedder=HashEmbedder(), model_dir=no_model
            )
            texts: list[str] = []
            kept_s = 0.0
            for name, messages in _sessions(folder, count):
                contents = [str(message["content"]) for message in messages]
                texts += [text for text in contents if text.strip()]
                kept = [one for one in to_stored(messages) if one is not None]
                kept_s += await _keep(house, name, kept)
            size = sum(len(text.encode()) for text in texts) / MEGA
            figures = {"sessions": count, "messages": len(texts), "text_mb": size}
            figures |= await house.db.read(_sizes, size)
            figures["kept_ms_per_mb"] = 1_000 * kept_s / size
            figures |= await _searched(house, texts)
            began = time.perf_counter()
            await house.db.write(BY, message_index.start_build)
            while await house.db.write(BY, lambda conn: message_index.step_build(conn, 100)):
                pass
            figures["rebuild_ms_per_mb"] = 1_000 * (time.perf_counter() - began) / size
            clock.advance(days=366)
            began, dropped = time.perf_counter(), await house.sessions.drop_old()
            took = time.perf_counter() - began
            figures["dropped_messages_per_s"] = dropped / took
            return {name: round(value, 3) for name, value in figures.items()}


def _sessions(folder: Path, count: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    known = sorted(exported(folder, sidechains=False).items())
    for number in range(count):
        name, messages = known[number % len(known)]
        yield (
            f"{name}-{number}",
            [{**each, "content": f"{each['content']}\ncopy{number}"} for each in messages],
        )


async def _keep(house: Rooms, name: str, kept: Sequence[StoredMessage]) -> float:
    await house.sessions.start(BY, name)

    def work(conn: Writing) -> None:
        agent_key = names.find_agent(conn, BY.agent_id)
        assert agent_key is not None
        session_key = names.find_session(conn, agent_key, name)
        assert session_key is not None
        put = [
            (sources.put(conn, agent_key, session_key, one.sha256, one.zlib, 0), one)
            for one in kept
        ]
        rows = [NewMessage(key, one.nth, one.role) for key, one in put]
        session_messages.add(conn, session_key, rows)

    began = time.perf_counter()
    await house.db.write(BY, work)
    return time.perf_counter() - began


def _sizes(conn: Reading, size: float) -> dict[str, float]:
    packed = conn.execute("SELECT sum(length(zlib)) FROM source").get
    words = conn.execute("SELECT sum(length(block)) FROM fts_session_data").get
    assert isinstance(packed, int)
    assert isinstance(words, int)
    return {"packed_per_mb": packed / MEGA / size, "words_per_mb": words / MEGA / size}


async def _searched(house: Rooms, texts: Sequence[str]) -> dict[str, float]:
    chance, took = random.Random(7), []
    for _ in range(QUERIES):
        words = content_words(chance.choice(texts))
        query = " ".join(chance.sample(words, min(2, len(words)))) or "copy1"
        began = time.perf_counter()
        matches = await house.sessions.search(BY, SessionQuery(query=query))
        took.append(1_000 * (time.perf_counter() - began))
        assert matches, "words that were said are not found"
    return {
        "search_p50_ms": quantile(took, 0.5),
        "search_p95_ms": quantile(took, 0.95),
        "search_max_ms": max(took),
    }


if __name__ == "__main__":
    main()
