"""A note as the daemon takes it."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.base.limits import FRAME_BYTES_MAX, HEADING_CHARS_MAX, NAME_CHARS_MAX
from memd.cli.notes.note import TEXT_PART_CHARS, merge_tags, parse_note, source_name
from memd.domain.ingest import IngestRequest
from memd.ingest.draft import draft_text
from memd.text.tokens import DefaultTokenEstimator

BILLING = PurePath("/home/ada/Billing service.md")


def headings(text: str, path: PurePath = BILLING) -> list[str | None]:
    return [item.get("heading") for item in parse_note(text, path, markdown=True).items]


@pytest.mark.parametrize(
    ("text", "path", "heading"),
    [
        ("# Billing\n## Decision\nx", "/n/adr-7.md", "Billing > Decision"),
        ("## Decision\nx", "/n/Billing service.md", "Billing service > Decision"),
        ("x", "/n/Billing service.md", "Billing service"),
        ("x", "/n/README.md", None),
        ("# Billing service\nx", "/n/billing service.md", "Billing service"),
        ("intro\n# Decision\nx", "/n/Billing.md", "Billing"),
        ("---\ntitle: Invoices\n---\n# Billing\nx", "/n/adr-7.md", "Invoices > Billing"),
        ("---\ntitle: Billing\n---\n# Billing\nx", "/n/adr-7.md", "Billing"),
    ],
)
def test_the_outermost_heading_says_what_the_whole_note_is_about(
    text: str, path: str, heading: str | None
) -> None:
    assert headings(text, PurePath(path))[0] == heading


def test_every_section_of_a_note_has_its_tags_and_its_date() -> None:
    note = parse_note(
        "---\ntags: [a]\n---\n# One\nx\n# Two\ny", PurePath("2026-11-21.md"), markdown=True
    )

    assert [item["tags"] for item in note.items] == [["a"], ["a"]]
    assert {item["occurred_at"][:13] for item in note.items} == {"2026-11-21T12"}
    assert {item["origin"] for item in note.items} == {"import"}


def test_the_date_of_the_front_matter_wins_over_the_name() -> None:
    note = parse_note("---\ndate: 2025-01-02\n---\nx", PurePath("2026-11-21.md"), markdown=True)
    assert note.items[0]["occurred_at"].startswith("2025-01-02")


def test_a_plain_text_has_no_headings_but_its_name() -> None:
    (item,) = parse_note("# not a heading\nx", PurePath("/n/shopping.txt"), markdown=False).items
    assert (item["heading"], item["text"]) == ("shopping", "# not a heading\nx")


def test_headings_that_do_not_fit_stand_in_the_text() -> None:
    names = [f"{level} " + "x" * 70 for level in range(1, 5)]
    marked = [f"{'#' * n} {name}" for n, name in enumerate(names, 1)]
    (item,) = parse_note("\n".join([*marked, "body"]), PurePath("README.md"), markdown=True).items

    assert len(item["heading"]) <= HEADING_CHARS_MAX
    assert item["heading"].endswith(names[-1])
    assert all(name in item["heading"] or name in item["text"] for name in names)


def test_an_empty_note_says_nothing() -> None:
    assert parse_note("---\ntitle: x\n---\n\n", BILLING, markdown=True).items == []


def test_a_text_without_end_comes_in_parts_that_a_frame_holds() -> None:
    for text in ("wörd " * 100_000, "語" * 300_000, "a paragraph\n\n" * 60_000):
        items = parse_note(text, BILLING, markdown=True).items
        assert max(len(item["text"]) for item in items) <= TEXT_PART_CHARS
        assert max(len(json.dumps(item)) for item in items) < FRAME_BYTES_MAX
        assert "".join(item["text"] for item in items).split() != []
        assert sum(len(re.sub(r"\s", "", item["text"])) for item in items) == len(
            re.sub(r"\s", "", text)
        )


def test_a_reference_is_never_longer_than_a_name_keeps_its_end_and_is_like_no_other() -> None:
    one, other = (PurePath(f"/{name}" + "/very" * 200 + "/notes.md") for name in "ab")
    assert len(source_name(one)) == NAME_CHARS_MAX
    assert source_name(one).endswith("/notes.md")
    assert source_name(one) != source_name(other)


def test_tags_of_note_and_person_are_joined() -> None:
    assert merge_tags(["a", "b"], ["b", "c"]) == ["a", "b", "c"]


@given(st.text(alphabet="ab #`-=|\n", max_size=400))
def test_the_same_text_comes_to_the_same_requests_and_loses_no_word(text: str) -> None:
    note = parse_note(f"x\n{text}", BILLING, markdown=True)
    assert note == parse_note(f"x\n{text}", BILLING, markdown=True)
    text_of_items = " ".join(f"{item.get('heading', '')} {item['text']}" for item in note.items)
    assert set(re.findall(r"\w+", text)) <= set(re.findall(r"\w+", text_of_items))


WRITTEN = st.lists(
    st.sampled_from(["# A{}", "## B{}", "### C{}", "word{}", "word{} " * 40, "- word{}", ""]),
    min_size=1,
    max_size=30,
)


@given(WRITTEN)
def test_every_memory_begins_with_the_headings_nearest_to_its_text(written: list[str]) -> None:
    """Through to the chunks, as they are stored; each word is numbered by its line."""
    lines = [line.replace("{}", str(number)) for number, line in enumerate(written)]
    nearest, headings = "README", {}
    for number, line in enumerate(lines):
        nearest = line.lstrip("# ") if line.startswith("#") else nearest
        headings[f"word{number}"] = nearest
    note = parse_note("\n".join(lines), PurePath("README.md"), markdown=True)
    requests = [IngestRequest(**item) for item in note.items]
    memories = [
        draft.content
        for each in requests
        for draft in draft_text(each, DefaultTokenEstimator()).items
    ]

    for content in memories:
        first = content.partition("\n")[0]
        for word in re.findall(r"word\d+", content):
            assert headings[word] == "README" or first.endswith(headings[word])
    kept_words = set(re.findall(r"\w+", " ".join(memories)))
    assert set(re.findall(r"\w+", " ".join(lines))) <= kept_words


VAULT = """---
tags: [work]
---
# Billing #finance
We use [[PostgreSQL 16|Postgres]] for the ledger, see [[notes/Ledger#Design]]. #database
The owner is [[People/Maria Silva]]. ![[diagram.png]] [[#Open]] [[Plan#^b7]] [[Team|team]] ^b1
`[[ -f x ]] #no` stays, [[ this ]] too, and so does #fff.
```sh
if [[ -f ledger ]]; then echo "[[Ledger]]" #shell
```
## Relations
- depends_on [[Ledger]]
"""


def test_links_and_tags_of_a_vault_read_as_words_and_tags() -> None:
    first, second = parse_note(VAULT, PurePath("Billing.md"), markdown=True).items

    assert first["text"] == (
        "We use Postgres (PostgreSQL 16) for the ledger, see Ledger > Design. #database\n"
        "The owner is Maria Silva. diagram.png Open Plan team\n"
        "`[[ -f x ]] #no` stays, [[ this ]] too, and so does #fff.\n"
        '```sh\nif [[ -f ledger ]]; then echo "[[Ledger]]" #shell\n```'
    )
    assert (first["tags"], second["tags"]) == (["work", "finance", "database"], ["work", "finance"])
    assert second["text"] == "- depends_on Ledger"


def test_a_text_that_is_no_markdown_keeps_its_brackets() -> None:
    (item,) = parse_note("[[Ledger]] #work", PurePath("a.txt"), markdown=False).items
    assert item["text"] == "[[Ledger]] #work"
    assert "tags" not in item
