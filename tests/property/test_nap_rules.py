"""Whatever a session is: consolidating it loses no fact, nests none, and twice is as once."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn

from memd.sleep.transcript.consolidator import MENTION_SHARE, MemoryConsolidator, tail_start
from memd.sleep.transcript.facts import (
    HEADER,
    NO_FACTS,
    extract_facts,
    parse_summary,
    render_bullets,
)

WORDS = st.sampled_from((
    "- ", "\n- ", "\n", "\\", "\\- ", "error: ", "Decided:", "x", " ", "/etc/hosts", "a_b", "run()",
    HEADER, f"{HEADER}\n\n- ", NO_FACTS, "mentioned: ", "…", "\r\n", "\u2028", "[ls] ", "4711",
))  # fmt: skip
TEXTS = st.lists(WORDS | st.text(max_size=6), max_size=12).map("".join)
IDS = st.sampled_from(("c1", "c2", ""))
BLOCKS = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, TEXTS),
    st.builds(lambda i: {"type": "tool_use", "id": i, "name": "Read"}, IDS),
    st.builds(lambda i, t: {"type": "tool_result", "tool_use_id": i, "content": t}, IDS, TEXTS),
    st.just({"type": "image"}),
    st.none(),
)
CONTENTS = TEXTS | st.lists(BLOCKS, max_size=4) | st.none() | st.integers()
CALLS = st.lists(st.builds(lambda i: {"id": i, "function": {"name": "ls"}}, IDS), max_size=2)
MESSAGES = st.one_of(
    st.builds(lambda c: {"role": "user", "content": c}, CONTENTS),
    st.builds(lambda c, t: {"role": "assistant", "content": c, "tool_calls": t}, CONTENTS, CALLS),
    st.builds(lambda c, i: {"role": "tool", "content": c, "tool_call_id": i}, CONTENTS, IDS),
    st.builds(lambda c: {"content": c}, CONTENTS),
)
SESSIONS = st.lists(MESSAGES, max_size=14)


@given(SESSIONS, st.sampled_from((0.0, MENTION_SHARE)))
@drawn(gate=75, long=300)
def test_consolidating_twice_is_as_once(session: list[Any], share: float) -> None:
    nap = MemoryConsolidator(mention_share=share)
    before = copy.deepcopy(session)

    once = nap.consolidate(session)

    assert session == before
    assert nap.consolidate(once[0]) == once


@given(SESSIONS, SESSIONS)
@drawn(gate=75, long=300)
def test_no_fact_is_lost_or_nested_however_often_it_is_consolidated(
    session: list[Any], later: list[Any]
) -> None:
    nap = MemoryConsolidator()
    start = tail_start(session)
    known = [fact.text for fact in extract_facts(session) if fact.index < start]

    first, summary = nap.consolidate(session)
    again, _ = nap.consolidate([*first, *later])
    older = again[0] if tail_start([*first, *later]) else first[0] if first else {}

    if start:
        assert parse_summary(f"{HEADER}\n\n{summary}") == [t for t in known if t != NO_FACTS]
        kept = parse_summary(older["content"])
        assert kept is not None
        assert [t for t in known if t != NO_FACTS and t not in kept] == []
        assert len(set(kept)) == len(kept)


@given(st.lists(TEXTS.filter(lambda t: t.strip() and t != NO_FACTS), unique=True, min_size=1))
def test_bullets_of_any_texts_are_read_back_as_they_were(texts: list[str]) -> None:
    assert parse_summary(f"{HEADER}\n\n{render_bullets(texts)}") == texts


@given(SESSIONS, st.integers(1, 400), st.sampled_from((0.0, MENTION_SHARE)))
def test_a_summary_never_takes_more_than_a_quarter_of_its_window(
    session: list[Any], window: int, share: float
) -> None:
    nap = MemoryConsolidator(max_tokens=window, mention_share=share)

    shorter, summary = nap.consolidate(session)

    least = len(f"{HEADER}\n\n- {NO_FACTS}")
    assert not summary or len(shorter[0]["content"]) <= max(least, window // 4 * 4)
