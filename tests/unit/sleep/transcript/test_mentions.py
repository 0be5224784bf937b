"""The enumeration of concrete things, which a nap may ask for beyond the documents' rules."""

from __future__ import annotations

from typing import Any

import pytest

from memd.sleep.transcript.consolidator import (
    MENTION_PREFIX,
    MENTION_SHARE,
    MemoryConsolidator,
    count_things,
    enumerate_things,
    is_enumeration,
)

RECENT = [{"role": "user", "content": text} for text in ("one", "two", "see main.go", "four")]


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("in /opt/app and ~/x, ../y/z.", {"/opt/app", "~/x", "../y/z"}),
        ("src/app.py:4711: ValueError", {"src/app.py", "4711", "ValueError"}),
        ("app.py, README.md, Dockerfile", {"app.py", "README.md"}),
        ("parse_line MAX_SIZE maxSize SyncSession os.path", {
            "parse_line", "MAX_SIZE", "maxSize", "SyncSession", "os.path"}),
        ("call parse(x) or run()", {"parse()", "run()"}),
        ("commit 12ecafe of 4242 in 12 s", {"12ecafe", "4242"}),
        ("38,000 zloty, not 1,250,000; 12'500 CHF", {"38,000", "1,250,000", "12'500"}),
        ("38\u00a0000 or 38 000, ports 4242,4711", {"38\u00a0000", "4242", "4711"}),
        ("Either/or, and so on... We had it. A well-known fact; I'm sure.", set()),
        ("   123→\treturn nil\n   124\treturn err", set()),
        ("x" * 200 + "_y", set()),
    ],
)  # fmt: skip
def test_a_thing_is_a_path_a_symbol_a_number_or_an_error(text: str, things: set[str]) -> None:
    assert set(count_things(text)) == things


def test_a_thing_is_counted_as_often_as_it_is_said() -> None:
    assert count_things("a/b/c, a/b/c. x_y")["a/b/c"] == 2


def test_what_is_known_already_is_not_enumerated() -> None:
    assert (
        enumerate_things(["x_y and /a/b, run()"], "x_y(1); run", 100)
        == f"{MENTION_PREFIX}/a/b, run()"
    )
    assert enumerate_things(["x_y"], "x_y", 100) == ""


def test_of_more_than_there_is_room_for_the_frequent_and_the_late_ones_stay() -> None:
    texts = [
        "old_one",
        *("some prose" for _ in range(200)),
        "often_on often_on often_on",
        "new_one",
    ]

    assert (
        enumerate_things(texts, "", len(f"{MENTION_PREFIX}often_on, new_one, "))
        == f"{MENTION_PREFIX}new_one, often_on"
    )
    assert enumerate_things(texts, "", 5) == ""


def test_an_enumeration_is_told_from_a_sentence_that_begins_like_it() -> None:
    assert is_enumeration("mentioned: /a/b, run()")
    assert is_enumeration("mentioned: 38,000, run()")
    assert not is_enumeration("mentioned: it, but never did /a/b")
    assert not is_enumeration("mentioned: ")
    assert not is_enumeration("/a/b, run()")


def test_without_being_asked_for_there_is_no_enumeration() -> None:
    messages = [{"role": "assistant", "content": "Look at src/app.py."}, *RECENT]

    assert "mentioned" not in MemoryConsolidator().consolidate(messages)[1]


def test_an_enumeration_is_the_last_bullet_and_names_what_no_other_one_does() -> None:
    call = {"function": {"name": "Read", "arguments": '{"file_path": "/src/b.py", "limit": 250}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "fix /src/a.py"},
        {"role": "assistant", "content": "It is parse_line in /src/a.py.", "tool_calls": [call]},
        {"role": "tool", "content": "x" * 200 + " TypeError in main.go"},
        *RECENT,
    ]

    _, summary = MemoryConsolidator(mention_share=MENTION_SHARE).consolidate(messages)

    assert summary.splitlines() == [
        "- fix /src/a.py",
        "- [Read] " + "x" * 200,
        "- mentioned: /src/b.py, TypeError, parse_line",
    ]


def test_an_earlier_enumeration_is_merged_into_the_new_one() -> None:
    nap = MemoryConsolidator(mention_share=MENTION_SHARE)
    first, _ = nap.consolidate([{"role": "assistant", "content": "old_one, /x/y"}, *RECENT])

    _, summary = nap.consolidate(
        [*first, {"role": "user", "content": "use /x/y"}, *RECENT, *RECENT]
    )

    assert [line for line in summary.splitlines() if "mentioned" in line] == [
        "- mentioned: old_one"
    ]
    assert "- use /x/y" in summary.splitlines()


def test_an_enumeration_is_no_fact_to_be_remembered() -> None:
    nap = MemoryConsolidator(mention_share=MENTION_SHARE)
    first, summary = nap.consolidate(
        [{"role": "assistant", "content": "found: /a/b, x_y"}, *RECENT]
    )
    second, _ = nap.consolidate([{"role": "assistant", "content": "see old_one"}, *first[1:]])

    assert summary == "- found: /a/b, x_y"
    assert [fact.text for fact in nap.facts(first[:1])] == ["found: /a/b, x_y"]
    assert second[0]["content"].endswith("- mentioned: old_one")
    assert nap.facts(second[:1]) == ()
