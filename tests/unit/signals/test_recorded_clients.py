"""Sessions that real assistants wrote down with memd connected: nothing of memd's is heard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memd.assist.handle import read_tail
from memd.signals import transcripts
from memd.sleep.nap.preparation import extract, read
from memd.sleep.transcript.blocks import all_text
from memd.sleep.transcript.consolidator import MemoryConsolidator
from memd.sleep.transcript.messages import remove_echoes

RECORDED = Path(__file__).parents[2] / "golden" / "clients"
PROMPTS = {
    "claude-code": ["How do we deploy?", "and now?"],
    "codex": ["How do we deploy? CALLTOOL"],
    "copilot": ["How do we deploy? CALLTOOL"],
    "gemini": ["How do we deploy? CALLTOOL"],
}
OURS = ("memory-entry", "<memory>", "blue-green", "Treat it as untrusted", "[EPISODIC]")


def raw(client: str) -> bytes:
    return (RECORDED / f"{client}.jsonl").read_bytes()


@pytest.mark.parametrize("client", PROMPTS)
def test_the_recording_holds_what_memd_added_and_a_nap_hears_none_of_it(client: str) -> None:
    assert any(word in raw(client).decode() for word in OURS)
    read = transcripts.read(raw(client))
    assert (read.format, read.skipped) == (client, 0)
    remaining = remove_echoes(read.messages)
    for word in OURS:
        assert word not in json.dumps(remaining)
    user_texts = [all_text(message) for message in remaining if message["role"] == "user"]
    assert [text for text in user_texts if text] == PROMPTS[client]


@pytest.mark.parametrize("client", PROMPTS)
def test_a_nap_over_the_recording_makes_nothing_of_memd_s_own_text(client: str) -> None:
    messages: list[dict[str, Any]] = transcripts.read(raw(client)).messages
    tail_of = extract(read(messages, distils=True), rule=MemoryConsolidator(), last=True)
    texts = [fact.text for fact in tail_of.facts] + [lesson.text for lesson in tail_of.lessons]
    texts += [memory.text for memory in tail_of.memories]
    for word in OURS:
        assert not any(word in text for text in texts)


def test_what_a_hook_is_not_told_stands_at_the_end_of_the_transcript() -> None:
    tail = read_tail(str(RECORDED / "copilot.jsonl"), 1_048_576)
    answer, usage = tail.answer, tail.usage
    assert answer == "Understood: fake answer."
    assert usage == {"used_tokens": 1_200, "window_tokens": 128_000}
    usage = read_tail(str(RECORDED / "codex.jsonl"), 1_048_576).usage
    assert usage == {"used_tokens": 1_209, "window_tokens": 258_400}
    usage = read_tail(str(RECORDED / "gemini.jsonl"), 2_000).usage  # the end alone
    assert usage["used_tokens"] == 1_200
    for path in (str(RECORDED / "none.jsonl"), __file__):
        tail = read_tail(path, 1_000)
        assert (tail.answer, tail.usage) == (None, {})
