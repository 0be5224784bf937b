"""SPEC 1.2-1.7, D5: what a text becomes before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.encoding import ChunkingConfig
from memd.domain.enums import MemoryCategory, Origin, Trust
from memd.domain.ingest import IngestRequest
from memd.ingest.draft import Drafts, draft_text, is_owner, text_to_embed
from memd.ingest.queue import speaker_labels
from memd.text.tokens import DefaultTokenEstimator

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def of(text: str, *, whole: bool = False, **more: Any) -> Drafts:
    return draft_text(IngestRequest(text=text, **more), DefaultTokenEstimator(), whole=whole)


def test_a_clean_text_keeps_no_source() -> None:
    assert of("The lamp is red.").source is None


@pytest.mark.parametrize("text", ["  The lamp is red.", "one\r\ntwo", "one\n\n\n\ntwo"])
def test_a_text_that_cleaning_changed_keeps_its_source(text: str) -> None:
    drafts = of(text)

    assert drafts.source == text
    assert [draft.content for draft in drafts.items] != [text]


def test_a_whole_text_stays_as_it_is() -> None:
    text = "  one\r\n\n\n\n" + "word " * 2_000

    drafts = of(text, whole=True)

    assert [draft.content for draft in drafts.items] == [text]
    assert drafts.source is None


def test_a_text_of_white_space_becomes_nothing() -> None:
    request = IngestRequest.model_construct(text=" \n\n ", category=None, namespace="default")
    blank = request.model_copy(update=IngestRequest(text="x").model_dump() | {"text": " \n\n "})

    assert draft_text(blank, DefaultTokenEstimator()).items == ()


def test_chunks_are_numbered_and_counted() -> None:
    drafts = of("\n\n".join(f"paragraph {n} " * 30 for n in range(3)))

    assert [draft.part for draft in drafts.items] == [0, 1, 2]
    assert all(draft.token_count == len(draft.content) // 4 for draft in drafts.items)


@pytest.mark.parametrize(
    ("speaker", "origin", "owner"),
    [
        (None, None, True),
        ("user", None, True),
        (" Me ", None, True),
        ("Ann", None, False),
        ("assistant", None, False),
        (None, Origin.PERSON, True),
        (None, Origin.TOOL, False),
        ("user", Origin.WEB, False),
    ],
)
def test_who_the_owner_is(speaker: str | None, origin: Origin | None, *, owner: bool) -> None:
    assert is_owner(speaker, origin) is owner


@pytest.mark.parametrize(
    ("more", "origin", "trust"),
    [
        ({}, Origin.PERSON, Trust.OWNER),
        ({"speaker": "assistant"}, Origin.ASSISTANT, Trust.ASSISTED),
        ({"origin": Origin.IMPORT}, Origin.IMPORT, Trust.ASSISTED),
        ({"origin": Origin.TOOL}, Origin.TOOL, Trust.UNTRUSTED),
        ({"origin": Origin.WEB, "speaker": "user"}, Origin.WEB, Trust.UNTRUSTED),
    ],
)
def test_origin_and_trust_are_stamped(more: dict[str, Any], origin: Origin, trust: Trust) -> None:
    drafts = of("The lamp is red.", **more)

    assert (drafts.origin, drafts.trust) == (origin, trust)


def test_what_is_embedded_names_speaker_and_photo() -> None:
    (draft,) = of("look", speaker="Ann", caption="a cat").items

    assert (
        draft.indexed_text
        == text_to_embed("look", "Ann", "a cat")
        == "Ann: look [shares photo: a cat]"
    )
    assert speaker_labels(["Ann", "Bo", None, "Ann"]) == ["Ann:", "Bo:"]


def test_a_secret_reaches_neither_vector_nor_row() -> None:
    drafts = of(
        f"the key is {KEY}",
        speaker=f"bot {KEY}",
        caption=f"a screen with {KEY}",
        source=f"file?token={KEY}",
        tags=[KEY],
        namespace=f"n {KEY}",
    )
    (draft,) = drafts.items

    for text in (
        draft.content,
        draft.indexed_text,
        drafts.speaker,
        drafts.caption,
        drafts.reference,
        drafts.namespace,
        *drafts.tags,
        drafts.source or "",
    ):
        assert text is not None
        assert KEY not in text
    assert drafts.redacted


def test_tags_are_distinct_also_when_only_the_screen_made_them_equal() -> None:
    assert of("x", tags=["b", "a", "b"]).tags == ("b", "a")
    other = KEY[:-1] + "9"
    assert len(set(of("x", tags=[KEY, other]).tags)) == len(of("x", tags=[KEY, other]).tags)


def test_only_a_procedural_statement_of_the_owner_is_a_preference() -> None:
    text = "I prefer tea over coffee."

    assert of(text).items[0].preference
    assert of(text, category=MemoryCategory.PROCEDURAL).items[0].preference
    assert of(text, category=MemoryCategory.SEMANTIC).items[0].preference is None
    assert of(text, speaker="Ann").items[0].preference is None
    assert of("Tea is hot.").items[0].preference is None


def test_a_hint_of_procedural_makes_a_preference_of_one_chunk_of_the_owners() -> None:
    text, hint = "Answer in German, never with a preamble", MemoryCategory.PROCEDURAL

    assert of(text, category=hint).items[0].preference
    assert of(text, category=hint, whole=True).items[0].preference
    assert of(text, category=hint, speaker="Ann").items[0].preference is None
    assert of(text, category=hint, origin=Origin.WEB).items[0].preference is None
    pages = "\n\n".join(f"Step {n} of the release. " * 30 for n in range(9))
    assert not any(item.preference for item in of(pages, category=hint).items)
    assert of(pages, category=hint, whole=True).items[0].preference is None


def test_every_chunk_of_a_text_begins_with_its_heading_and_has_room_for_it() -> None:
    heading = "Billing service > Decision"
    drafts = of("One sentence of the note. " * 200, heading=heading)

    assert len(drafts.items) > 3
    assert all(draft.content.startswith(f"{heading}\n") for draft in drafts.items)
    assert all(draft.indexed_text == draft.content for draft in drafts.items)
    assert max(draft.token_count for draft in drafts.items) <= WINDOW_TOKENS_MAX


@pytest.mark.parametrize("bounds", [(5, 10), (50, 60), (254, 254)])
def test_a_heading_that_is_large_beside_the_bounds_leaves_room_for_its_text(
    bounds: tuple[int, int],
) -> None:
    heading = "Billing service > " + "Decision " * 15
    low, high = bounds
    request = IngestRequest(text="One sentence of the note. " * 200, heading=heading)
    drafts = draft_text(
        request, DefaultTokenEstimator(), chunking=ChunkingConfig(min_tokens=low, max_tokens=high)
    )

    sizes = [DefaultTokenEstimator().count(draft.content.split("\n")[1]) for draft in drafts.items]
    assert max(sizes) >= min(low, 200) - 1
    assert max(draft.token_count for draft in drafts.items) <= WINDOW_TOKENS_MAX


def test_a_heading_says_nothing_about_the_kind_of_a_text() -> None:
    text = "We met at the lake on Monday."

    assert of(text, heading="How to deploy").items[0].category is of(text).items[0].category


def test_a_secret_in_a_heading_is_replaced() -> None:
    drafts = of("the key of the hub", heading=f"Key {KEY}")

    assert KEY not in drafts.items[0].content
    assert drafts.redacted


def test_a_turn_may_ask_not_to_be_remembered_or_to_forget() -> None:
    text = "I always take 100 mg. Please keep that between us."
    assert of(text, session_id="s").privacy.is_asked
    assert of("forget what I told you about my knee", session_id="s").privacy.is_asked
    filed = of(text, session_id="s", deliberate=True)
    assert not filed.privacy.is_asked
    assert filed.items[0].preference is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Commit it. don't push. I always push myself.", "don't push. I always push myself."),
        ("Never tag. I always tag on my own.", "Never tag. I always tag on my own."),
        ("Fix the date. I always push myself.", "I always push myself."),
        ("Not sure why. I always use tabs.", "I always use tabs."),
    ],
)
def test_the_order_that_a_habit_explains_is_part_of_the_preference(text: str, value: str) -> None:
    preference = of(text).items[0].preference

    assert preference is not None
    assert preference.value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("why is this red again, you know I hate red", "I hate red"),
        ("and who is Ann when I always ask Ben? Fix it.", None),
        ("Look. what's that for, in mails I prefer tea", "in mails I prefer tea"),
        ("when I travel, I prefer trains", "when I travel, I prefer trains"),
        ("what is more, I prefer trains", "what is more, I prefer trains"),
    ],
)
def test_a_remark_behind_a_question_is_a_preference_by_its_own_words(
    text: str, value: str | None
) -> None:
    preference = of(text).items[0].preference
    assert (preference and preference.value) == value


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("why is this red again, you know ", "I hate red. Use blue, always."),
        ("why is this red? ", "why is this red? I hate red. Use blue, always."),
        ("why is this red. ", "why is this red. I hate red. Use blue, always."),
    ],
)
def test_a_question_before_a_remark_is_no_part_of_what_was_added_as_a_preference(
    question: str, value: str
) -> None:
    text = f"{question}I hate red. Use blue, always."
    preference = of(text, category=MemoryCategory.PROCEDURAL, deliberate=True).items[0].preference
    assert preference is not None
    assert preference.value == value
