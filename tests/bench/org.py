"""How fast everybody's knowledge answers: ``python -m tests.bench.org [--facts N] --json OUT``.

With ``--keep FOLDER`` the store is filled there and left, and a later run asks the same one.

A real daemon and socket over an organisation of 10,000 facts with 10 versions each,
written by the store's own functions with what is learnt from them. Each question is
asked some hundred times, one after the other; ``MEASURES`` names them, and a room that
has another question adds a line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import staged, write_result
from memd.base.clock import SystemClock, from_us
from memd.base.ids import Ids
from memd.base.paths import Paths
from memd.client import Client
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.org.org import OrgFactAuthor
from memd.domain.trust import Screened
from memd.org import temporal
from memd.store.file.connect import Writing
from memd.store.file.database import open_database
from memd.store.org import org
from memd.store.org.org import FactContent, Stamp

SEED = 7
FACTS, VERSIONS = 10_000, 10
STEP_FACTS = 1_000
QUESTIONS, WARM_UP = 200, 10
HOUR_US = 3_600_000_000
NOTE = "made.json"

TOOLS = [
    *("Litestar", "Flask", "Django", "FastAPI", "Postgres", "SQLite", "Redis", "Kafka"),
    *("RabbitMQ", "Terraform", "Ansible", "Helm", "Grafana", "Prometheus", "Loki", "Sentry"),
    *("Vault", "Consul", "Nomad", "Argo", "Jenkins", "Buildkite", "Bazel", "Poetry"),
]
PURPOSES = [
    *("the web interface", "background jobs", "session storage", "deployments", "metrics"),
    *("tracing", "builds", "feature flags", "billing", "search", "reporting", "admin pages"),
    *("nightly imports", "mail", "exports"),
]
HUMAN = OrgFactAuthor(is_human=True)


class Asked(NamedTuple):
    """One call over the socket."""

    method: str
    params: dict[str, Any]


Measure = Callable[[random.Random, "Made"], Asked]


class Made(NamedTuple):
    """What was written: the ids of the facts, and from when to when."""

    ids: list[str]
    from_us: int
    to_us: int


def content(fact: int, version: int) -> str:
    """Return what a fact says in a version: a team, a tool that changes, a purpose, a reason."""
    chance = random.Random(SEED * 1_000_003 + fact * 101 + version)
    tool, other = chance.sample(TOOLS, 2)
    purpose = PURPOSES[fact % len(PURPOSES)]
    return (
        f"Team {team(fact)} uses {tool} for {purpose}. "
        f"It replaces {other}, which was too slow for batch {fact % 977}."
    )


def team(fact: int) -> str:
    """Return the name of the team that a fact is about; some facts share one."""
    return f"{('Amber', 'Birch', 'Cedar', 'Delta', 'Ember')[fact % 5]}{fact // 7}"


def _what_for(chance: random.Random, made: Made) -> Asked:
    fact = chance.randrange(len(made.ids))
    purpose = PURPOSES[fact % len(PURPOSES)]
    return Asked("org.query", {"context": f"What does team {team(fact)} use for {purpose}?"})


def _literally(chance: random.Random, made: Made) -> Asked:
    del made
    return Asked("org.query", {"context": f"uses {chance.choice(TOOLS)}", "limit": 5})


def _commonest(chance: random.Random, made: Made) -> Asked:
    """The dearest: every word is in every fact."""
    del chance, made
    return Asked("org.query", {"context": "team uses slow replaces batch"})


def _newest(chance: random.Random, made: Made) -> Asked:
    del made
    return Asked("org.query", {"categories": [chance.choice(list(OrgFactCategory))]})


def _snapshot(chance: random.Random, made: Made) -> Asked:
    at = from_us(chance.randint(made.from_us, made.to_us)).isoformat()
    after = chance.choice(made.ids)
    return Asked("org.snapshot_at", {"at": at, "after": after, "limit": 20})


def _history(chance: random.Random, made: Made) -> Asked:
    return Asked("org.history", {"fact_id": chance.choice(made.ids)})


def _three_hops(chance: random.Random, made: Made) -> Asked:
    """From a team over its tools and their other teams to a tool that it does not use."""
    name = f"Team {team(chance.randrange(len(made.ids)))}"
    params = {"source": name, "target": chance.choice(TOOLS), "hops": 3}
    return Asked("graph.path", params)


def _walked(chance: random.Random, made: Made) -> Asked:
    """Three hops by a question: through two tools, each with some hundred teams."""
    name = team(chance.randrange(len(made.ids)))
    question = f"What is used by a team that uses what Team {name} uses?"
    return Asked("graph.query", {"question": question})


def _around(chance: random.Random, made: Made) -> Asked:
    del made
    return Asked("graph.neighbours", {"name": chance.choice(TOOLS), "limit": 20})


def _as_of(chance: random.Random, made: Made) -> Asked:
    """A page of what held, at any two times."""
    return Asked("org.as_of", {**_times(chance, made), "limit": 20})


def _as_of_team(chance: random.Random, made: Made) -> Asked:
    name = f"Team {team(chance.randrange(len(made.ids)))}"
    return Asked("org.as_of", {**_times(chance, made), "subject": name})


def _as_of_hub(chance: random.Random, made: Made) -> Asked:
    """The dearest: a thing that some thousand facts spoke of, one page."""
    return Asked("org.as_of", {**_times(chance, made), "subject": chance.choice(TOOLS)})


def _as_of_text(chance: random.Random, made: Made) -> Asked:
    name = team(chance.randrange(len(made.ids)))
    return Asked("org.as_of", {**_times(chance, made), "text": name, "limit": 5})


def _timeline(chance: random.Random, made: Made) -> Asked:
    return Asked("org.timeline", {"name": f"Team {team(chance.randrange(len(made.ids)))}"})


def _times(chance: random.Random, made: Made) -> dict[str, str]:
    first = made.from_us + 1_000_000  # by then every fact was written
    valid, known = (from_us(chance.randint(first, made.to_us)).isoformat() for _ in range(2))
    return {"valid": valid, "known": known}


MEASURES: dict[str, Measure] = {
    "query": _what_for,
    "query, literally": _literally,
    "query, common words": _commonest,
    "query, newest": _newest,
    "snapshot_at, a page": _snapshot,
    "history": _history,
    "graph.path, 3 hops": _three_hops,
    "graph.query, 3 hops": _walked,
    "graph.neighbours, of a hub": _around,
    "as_of, a page": _as_of,
    "as_of, about a team": _as_of_team,
    "as_of, about a hub": _as_of_hub,
    "as_of, a literal text": _as_of_text,
    "timeline of a team": _timeline,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.org", description=__doc__)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--versions", type=int, default=VERSIONS)
    parser.add_argument("--bare", action="store_true", help="learn nothing from the facts")
    parser.add_argument("--json", type=Path, dest="out")
    parser.add_argument("--keep", type=Path, help="fill the store here, or ask the one that is")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as folder:
        home = options.keep or Path(folder)
        path = Paths.resolve(home=home, environ={}).database
        begun = time.process_time()
        made = kept(home) or filled(home, options.facts, options.versions, learn=not options.bare)
        filled_s = time.process_time() - begun
        with staged(home) as stage:
            result = {
                "facts": options.facts,
                "versions": options.versions,
                "filled_cpu_s": round(filled_s, 1),
                "file_mb": round(path.stat().st_size / 1e6, 1),
                "ms": {name: asked(stage.client, one, made) for name, one in MEASURES.items()},
            }
    write_result(result, options.out)


def asked(client: Client, measure: Measure, made: Made) -> dict[str, float]:
    """Return how long the questions of *measure* take, in milliseconds."""
    chance = random.Random(SEED)
    took = []
    for number in range(WARM_UP + QUESTIONS):
        method, params = measure(chance, made)
        begun = time.perf_counter()
        client.call(method, params)
        if number >= WARM_UP:
            took.append(1_000 * (time.perf_counter() - begun))
    took.sort()
    at = {"p50": took[len(took) // 2], "p95": took[len(took) * 95 // 100], "max": took[-1]}
    return {name: round(value, 2) for name, value in at.items()}


def filled(home: Path, facts: int, versions: int, *, learn: bool) -> Made:
    """Fill the store of *home* and note beside it what was written."""
    path = Paths.resolve(home=home, environ={}).database
    path.parent.mkdir(parents=True, exist_ok=True)
    made = asyncio.run(fill(path, facts, versions, learn=learn))
    (home / NOTE).write_text(json.dumps(made), "utf-8")
    return made


def kept(home: Path) -> Made | None:
    """Return what was written to the store of *home*, None where none was filled."""
    note = home / NOTE
    return Made(*json.loads(note.read_text("utf-8"))) if note.is_file() else None


async def fill(path: Path, facts: int, versions: int, *, learn: bool) -> Made:
    """Write every version of every fact at *path*, an hour apart; the first versions first."""
    clock = SystemClock()
    ids = Ids(clock)
    fact_ids = [ids.new() for _ in range(facts)]
    end_us = clock.now_us()
    start_us = end_us - versions * HOUR_US
    async with open_database(path, clock) as db:
        for version in range(versions):
            now_us = start_us + version * HOUR_US
            for some in _steps(facts):
                work = partial(_put, learn, ids, fact_ids, some, version, now_us)
                await db.write(Caller(method="bench"), work)
        await db.checkpoint(truncate=True)
    return Made(fact_ids, start_us, end_us)


def _steps(facts: int) -> Iterator[range]:
    for start in range(0, facts, STEP_FACTS):
        yield range(start, min(start + STEP_FACTS, facts))


def _put(  # noqa: PLR0917  # what a partial binds
    learn: bool,
    ids: Ids,
    fact_ids: list[str],
    some: range,
    version: int,
    now_us: int,
    conn: Writing,
) -> None:
    kinds = list(OrgFactCategory)
    for fact in some:
        wording = FactContent(kinds[fact % len(kinds)], Screened(content(fact, version)))
        stamp = Stamp(ids.new(), HUMAN, "bench", now_us + fact, ids.salt())
        operation = org.publish(conn, fact_ids[fact], wording, stamp)
        if learn:
            temporal.learn(conn, operation)


if __name__ == "__main__":
    main()
