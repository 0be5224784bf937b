"""How many memories a question gets, each thing once, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.ranked_candidates import BAR, an_entry, selected

from memd.domain.enums import Origin, SearchMode
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.ranking.features import TokenMatch
from memd.recall.ranking.rankings import RankedCandidate, answer_bar
from memd.recall.ranking.weights import HYBRID
from memd.recall.select import (
    ASSISTANT_BARS,
    ELSEWHERE_BARS,
    ENTRIES_MAX,
    NAMED_MODE_ENTRIES,
    NOTE_BARS,
    RELATED_MATCH,
    REQUEST_BARS,
    SURE,
    TALK_BARS,
    Selection,
)


def test_what_is_worth_less_than_its_bar_is_left_out_and_named() -> None:
    items = [an_entry(0.6), an_entry(0.1), an_entry(0.09)]

    selection = selected(items)

    assert (selection.items, selection.count_max) == (items[:2], 2)
    assert [(cut.id, cut.by) for cut in selection.all_excluded(selection.items)] == [
        (items[2].measured.candidate.memory_id, "bar")
    ]


def test_who_says_how_many_gets_as_many_whatever_they_are_worth() -> None:
    items = [an_entry(0.6), an_entry(0.01), an_entry(0.01, "text"), an_entry(0.01, "text")]

    assert selected(items, top_k=3) == Selection(items, 3, [])


def test_what_does_not_pass_the_gate_is_in_no_answer() -> None:
    shut = replace(an_entry(0.6), passes=False)

    assert selected([shut], top_k=5).items == []
    selection = selected([shut])
    assert selection.items == []
    assert [cut.reason for cut in selection.excluded] == ["gate"]


def test_a_threshold_only_takes_away() -> None:
    items = [an_entry(0.6), an_entry(0.2), an_entry(0.05)]

    assert selected(items, min_relevance=0.3).items == items[:1]
    assert selected(items, min_relevance=0.01).items == items[:2]


HIVES, APIARY = "/home/ada/hives", "/home/ada/apiary-web"


def of_projects(query: str, **asked: Any) -> list[str | None]:
    """Return whose entries answer *query* in HIVES, of likes of each project and of none."""
    projects = (HIVES, APIARY, None)
    items = [
        an_entry(2 * BAR, f"mead {place}", project_id=place, session_key=1) for place in projects
    ]
    sure = an_entry(ELSEWHERE_BARS * BAR, "honey", project_id="/home/ada/shop")
    selection = selected([sure, *items], query, project_id=HIVES, **asked)
    return [item.measured.candidate.project_id for item in selection.items]


def test_another_project_s_memory_is_in_a_prompt_only_if_it_is_rather_sure() -> None:
    assert of_projects("how long?") == ["/home/ada/shop", HIVES, None]


def test_who_names_a_project_or_searches_gets_what_is_there() -> None:
    everything = ["/home/ada/shop", HIVES, APIARY, None]
    assert of_projects("how long in the Apiary-Web?") == everything
    assert of_projects("how long in the apiary?") == ["/home/ada/shop", HIVES, None]
    assert of_projects("how long?", preferences="matching") == everything
    assert of_projects("how long?", top_k=9) == everything


def test_a_note_of_no_project_has_to_be_likelier_in_the_prompt_of_one() -> None:
    notes = [an_entry(times * BAR, f"note {times}") for times in (NOTE_BARS, 2)]

    assert selected(notes, project_id=HIVES).items == [replace(notes[0], bar=NOTE_BARS * BAR)]
    assert selected(notes).items == notes
    assert len(selected(notes, project_id=HIVES, preferences="matching").items) == len(notes)


def test_beside_a_likely_memory_what_naps_composed_has_to_be_likelier_in_a_prompt() -> None:
    def entry(relevance: float, session_key: int, kind: str | None = None) -> RankedCandidate:
        fields = {"session_key": session_key, "kind": kind, "project_id": HIVES}
        return replace(an_entry(relevance, f"{relevance}, {kind}", **fields), bar=0.05)

    answer, digest, other = entry(SURE, 1), entry(0.14, 1, DIGEST_TAG), entry(0.13, 2, DIGEST_TAG)
    hardly, turn = entry(0.09, 2, "outcome"), entry(0.08, 1)
    less = entry(SURE - 0.1, 3)

    everything = [answer, digest, other, hardly, turn]
    assert selected(everything, project_id=HIVES).items == [answer, other, turn]
    for alone in ([less, other, hardly], [digest, other, hardly]):
        assert selected(alone, project_id=HIVES).items == alone
    assert selected(everything, preferences="matching").items == everything
    assert len(selected(everything, top_k=9).items) == 5


@pytest.mark.parametrize(
    "query",
    [
        "rename the hive to apiary",
        "Tom wants a crane for Christmas",
        "run it",
        "pip install pyarrow",
    ],
)
def test_beside_a_prompt_that_asks_nothing_a_memory_has_to_be_likelier(query: str) -> None:
    its = [an_entry(times * BAR, f"own {times}") for times in (REQUEST_BARS, 1.5)]
    other = an_entry(3 * BAR, "of a project", project_id=HIVES)

    assert selected([*its, other], query).items == [replace(its[0], bar=REQUEST_BARS * BAR)]
    assert selected([*its, other], "who wants a crane").items == [*its, other]
    for asked in ("the crane", "yellow crane of Tom: which one again"):
        assert selected([*its, other], asked).items == [*its, other]
    assert len(selected([*its, other], query, top_k=3).items) == 3


def without_words(item: RankedCandidate) -> RankedCandidate:
    """Return *item* without a word of the prompt."""
    return replace(item, measured=replace(item.measured, matched=()))


def test_a_prompt_that_asks_nothing_gets_nothing_if_no_memory_is_related_to_its_words() -> None:
    strange = without_words(an_entry(0.6, "of the meadow"))
    request = "rename the hive to apiary"

    assert selected([strange], request).items == []
    assert len(selected([strange, an_entry(0.5)], request).items) == 2
    assert selected([strange, an_entry(0.01)], request).items == []
    near = replace(strange.measured, match=TokenMatch(RELATED_MATCH, 0.1))
    assert len(selected([replace(strange, measured=near)], request).items) == 1
    assert selected([strange], "which hive is it").items == [strange]
    assert selected([strange], request, preferences="matching").items == [strange]
    assert len(selected([strange], request, top_k=1).items) == 1


def test_what_a_time_or_the_last_session_brings_needs_no_word_of_the_prompt() -> None:
    last = replace(without_words(an_entry(0.5, "of yesterday")), bar=0.0)

    assert selected([last], "write up what we did yesterday").items == [last]


def test_beside_a_prompt_in_another_language_that_asks_nothing_a_memory_needs_a_word_too() -> None:
    prompt = "ich habe den Kasten am Haus gestrichen"

    assert selected([without_words(an_entry(0.6))], prompt).items == []
    assert len(selected([an_entry(0.6)], prompt).items) == 1


def test_several_short_sentences_are_no_lookup() -> None:
    weak = [an_entry(BAR)]

    assert selected(weak, "great. coffee. bye").items == []
    assert selected(weak, "cool, lunch").items == []
    assert selected(weak, "the nginx.conf port").items == weak


def test_the_digest_of_a_talk_in_no_project_has_to_be_likelier_in_a_prompt() -> None:
    talk = [an_entry(times * BAR, f"talk {times}", kind=DIGEST_TAG) for times in (TALK_BARS, 1.5)]
    work = an_entry(BAR, "work", kind=DIGEST_TAG, project_id=HIVES)

    for project_id in (None, HIVES):
        items = selected([*talk, work], project_id=project_id).items
        assert items == [replace(talk[0], bar=TALK_BARS * BAR), work]
    assert len(selected(talk, preferences="matching").items) == len(talk)


@pytest.mark.parametrize("mode", [SearchMode.DENSE, SearchMode.WORDS])
def test_a_mode_that_says_how_to_search_brings_five(mode: SearchMode) -> None:
    items = [an_entry(0.01) for _ in range(9)]

    selection = selected(items, search_mode=mode)

    assert (selection.items, selection.count_max) == (items, NAMED_MODE_ENTRIES)


def test_no_answer_holds_more_than_twenty() -> None:
    assert selected([an_entry(0.5) for _ in range(30)]).count_max == ENTRIES_MAX


def test_for_who_looks_at_the_texts_there_is_more_to_choose_from_and_not_more_to_tell() -> None:
    items = [an_entry(0.6), an_entry(0.05), an_entry(0.04)]

    assert selected(items, reordered=True) == Selection(items, 1, selected(items).excluded)


def test_where_nothing_is_worth_its_place_nobody_chooses_either() -> None:
    assert selected([an_entry(0.05)], reordered=True).items == []


def test_what_was_worth_its_place_and_found_no_room_is_named() -> None:
    items = [an_entry(0.6), an_entry(0.5), an_entry(0.05)]
    selection = selected(items)

    cut = selection.all_excluded(items[:1])

    assert [each.by for each in cut] == ["room", "bar"]


def test_the_bar_is_higher_where_the_gate_doubts() -> None:
    low, half, sure = (answer_bar(HYBRID, chance) for chance in (HYBRID.quiet, 0.5, 1.0))

    assert HYBRID.bar == sure < half < low < 3 * HYBRID.bar


def test_nothing_reaches_the_bar_where_the_gate_hardly_believes_in_an_answer() -> None:
    assert answer_bar(HYBRID, HYBRID.quiet - 0.01) > 1.0


def test_an_assistants_turn_has_to_be_likelier_in_a_prompt_and_what_a_nap_keeps_need_not() -> None:
    turn: dict[str, Any] = {"origin": Origin.ASSISTANT, "session_key": 1, "project_id": HIVES}
    likely = an_entry(ASSISTANT_BARS * BAR, "likely", **turn)
    others = [
        an_entry(1.5 * BAR, "by a nap", kind="fix", **turn),
        an_entry(1.5 * BAR, "by somebody", speaker="Tom", **turn),
        an_entry(1.5 * BAR, "told on purpose", **{**turn, "session_key": None}),
    ]

    items = selected([likely, an_entry(1.5 * BAR, "less", **turn), *others], project_id=HIVES).items

    contents = [item.measured.candidate.own for item in items]
    assert contents == ["likely", "by a nap", "by somebody", "told on purpose"]
