"""X1 and X2: the synthesizer as the documents use it, in process and over the socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import running

from memd.api import MemoryFragment, MemorySynthesizer
from memd.client import AsyncClient

QUERY = "How do I fix Docker networking?"
GIVEN = (
    ("learnings", ["always check ports first", "use --verbose for debugging"], 0.7),
    ("playbook", ["rsync deploy: shell_exec then file_write"], 0.6),
    ("summaries", ["discussed Docker networking and port mapping"], 0.4),
)
BLOCK = """\
[learnings] always check ports first
[learnings] use --verbose for debugging
[playbook] rsync deploy: shell_exec then file_write
[summaries] discussed Docker networking and port mapping"""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with running(tmp_path) as paths, AsyncClient(socket=paths.socket) as client:
        yield client


def sent(*given: tuple[str, list[str], float]) -> list[dict[str, Any]]:
    return [
        {"source": source, "content": content, "relevance": relevance}
        for source, items, relevance in given
        for content in items
    ]


def test_x1_the_usage_of_the_document() -> None:
    synth = MemorySynthesizer(max_tokens=4500)
    for source, items, relevance in GIVEN:
        synth.add_fragments(source, items, base_relevance=relevance)

    block = synth.synthesize(QUERY)

    assert block == BLOCK
    scores = [fragment.relevance for fragment in synth.select(QUERY)]
    assert scores == pytest.approx([0.35, 0.35, 0.30, 0.2833], abs=1e-4)


async def test_x1_the_same_over_the_socket(client: AsyncClient) -> None:
    made = await client.call(
        "memory.synthesize", {"query": QUERY, "max_tokens": 4500, "fragments": sent(*GIVEN)}
    )
    assert made["block"] == BLOCK
    assert made["sources"] == {"summaries": 1, "learnings": 2, "playbook": 1}
    assert made["left_out"] == 0


async def test_x1_the_same_from_what_memd_knows(client: AsyncClient) -> None:
    """The sources are real: a task reported, a pattern recorded, a memory told."""
    await client.call(
        "learn.outcome", {"final_response": "It failed.", "lesson": "always check ports first"}
    )
    await client.call(
        "learn.outcome", {"final_response": "Done.", "lesson": "use --verbose for debugging"}
    )
    await client.call(
        "learn.success", {"description": "rsync deploy", "tools": ["shell_exec", "file_write"]}
    )
    await client.call(
        "memory.store",
        {"category": "episodic", "content": "discussed Docker networking and port mapping"},
    )

    made = await client.call("memory.synthesize", {"query": QUERY})

    assert made["degraded"] is None
    assert made["block"].splitlines() == [
        "[learnings] use --verbose for debugging",
        "[learnings] always check ports first",
        "[conversation] discussed Docker networking and port mapping",
        "[playbook] rsync deploy: shell_exec then file_write",
    ]


def test_x2_the_worked_values() -> None:
    synth = MemorySynthesizer()
    synth.add_fragments("learnings", ["docker ports"], base_relevance=0.7)
    synth.add_fragments("summaries", ["tea"], base_relevance=0.4)
    scores = [fragment.relevance for fragment in synth.select("docker ports")]
    assert scores == pytest.approx([0.85, 0.2])


async def test_x2_what_shares_nine_words_of_ten_is_said_once(client: AsyncClient) -> None:
    nine = "one two three four five six seven eight nine"
    given = (("summaries", [f"{nine} old"], 0.4), ("learnings", [nine], 0.7))
    synth = MemorySynthesizer()
    synth.add(MemoryFragment(*each) for each in [("learnings", nine, 0.7)])
    assert synth.synthesize("") == f"[learnings] {nine}"

    made = await client.call("memory.synthesize", {"query": "", "fragments": sent(*given)})

    assert made["block"] == f"[learnings] {nine}"
    assert made["left_out"] == 1


@pytest.mark.parametrize(
    "params",
    [
        {"query": "a", "max_tokens": -1},
        {"query": "a", "fragments": [{"source": " ", "content": "x"}]},
        {"query": "a", "fragments": [{"source": "s"}]},
        {"query": "a", "fragments": [{"source": "s", "content": "x", "relevance": "high"}]},
        {"query": "a", "fragments": [{"source": "s", "content": "x", "relevance": 1.5}]},
        {},
    ],
)
async def test_what_cannot_be_meant_is_invalid(client: AsyncClient, params: dict[str, Any]) -> None:
    from memd.base.errors import InvalidError

    with pytest.raises(InvalidError):
        await client.call("memory.synthesize", params)
