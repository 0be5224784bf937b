"""SPEC 16.8: dense texts are shortened without a word changed."""

from __future__ import annotations

import pytest
from support.effort import effort

from memd.base.limits import FACT_CHARS_MAX
from memd.sleep.strategies.shorten import ExtractivePreserver, anchors, find_facts

HASH = "0123456789abcdef0123456789abcdef01234567"
UUID = "550e8400-e29b-41d4-a716-446655440000"
URL = "https://api.example.com/v2/users/12345"


def test_facts_are_addresses_then_identifiers_then_versions_then_pairs() -> None:
    text = f"port: 5432\nreleased as v1.2.3 with {HASH}\n{UUID} is at {URL}"
    assert find_facts(text) == (URL, UUID, HASH, "v1.2.3", "port: 5432")


def test_a_fact_stands_once_and_there_are_at_most_max_facts() -> None:
    text = "\n".join(["key_0: 0", *(f"key_{number}: {number}" for number in range(40))])
    block = ExtractivePreserver().extract(text)
    assert [line for line in block.split("\n") if line.startswith("- ")] == [
        f"- key_{number}: {number}" for number in range(20)
    ]
    assert ExtractivePreserver(max_facts=3).extract(text).count("\n- ") == 3


def test_the_block_has_a_header_the_facts_and_the_anchors() -> None:
    block = ExtractivePreserver(anchor_length=4).extract("port: 5432")
    assert block == (
        "[Extractive preservation]\nKey facts:\n- port: 5432\n"
        "[START] port...\n[MID] ...t: 5...\n[END] ...5432"
    )


def test_a_short_text_without_facts_is_its_own_start() -> None:
    assert ExtractivePreserver().extract("short text") == (
        "[Extractive preservation]\n[START] short text"
    )


def test_anchors_are_start_middle_and_end_with_points_where_they_were_cut() -> None:
    assert anchors("abcdefghij", 4) == ("abcd...", "...defg...", "...ghij")
    assert anchors("abcd", 4) == ("abcd", "", "")
    assert anchors("abcde", 4) == ("abcd...", "abcd...", "...bcde")  # they overlap


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("v1.2 and v1.2.3 and v1.2.3.4", ["v1.2.3", "v1.2.3.4"]),
        ("3.11.4, 2.0.0-rc1 and 1.2", ["3.11.4", "2.0.0"]),
        ("runs 3.12.1.", ["3.12.1"]),
        ("the host 192.168.1.100 answers", []),
        ("at 10.0.0.1:8080", []),
    ],
)
def test_a_version_has_three_parts_and_an_address_is_none(text: str, versions: list[str]) -> None:
    assert list(find_facts(text)) == versions


def test_a_key_without_a_value_does_not_take_the_next_line() -> None:
    assert find_facts("API_KEY=\nDEBUG=true") == ("DEBUG=true",)
    assert find_facts("services:\n\n  web: nginx") == ("web: nginx",)


@pytest.mark.parametrize(
    "line",
    [
        "Note: prose",
        "Note: we have to ask Ada about the lease",
        "12:30 lunch",
        "Alice: I would rather go by train this time",
        "reminder: water the plants",
        "and: this is how it went on, sadly.",
    ],
)
def test_prose_and_times_are_no_pairs(line: str) -> None:
    assert find_facts(line) == ()


def test_a_bare_address_is_a_fact_once_and_no_pair() -> None:
    assert find_facts(URL) == (URL,)
    assert find_facts(f"{URL} is down") == (URL,)


@pytest.mark.parametrize(
    "line",
    [
        "host: 192.168.1.100",
        "Status: active",
        "log.level = debug",
        "max-conns: 50",
        "  timeout: 30 s",
        "description: a small web server",
        "NOTE=not prose where the sign is an equals sign",
    ],
)
def test_a_pair_is_kept_as_it_stands(line: str) -> None:
    assert find_facts(line) == (line.strip(),)


def test_a_fact_has_an_end() -> None:
    (fact,) = find_facts("key=" + "x" * 10_000)
    assert fact == "key=" + "x" * (FACT_CHARS_MAX - 4) + "..."


@pytest.mark.parametrize("name", ["max_facts", "anchor_length"])
def test_less_than_one_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ExtractivePreserver(**{name: 0})


@pytest.mark.parametrize("piece", ["https://", "ab12-", "1.", "a:", "a-", "\na : ", "v1.2.3", "f"])
def test_a_text_made_to_be_slow_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    with effort() as spent:
        assert len(ExtractivePreserver().extract(text)) < 20_000
    assert spent.units < 400
