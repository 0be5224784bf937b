"""What holds one part of a question and another part not has to be surer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from support.ranked_candidates import an_entry, selected

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import DIGEST_TAG, NAP_TAG
from memd.recall.ranking.features import TokenMatch
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.select import UNEVEN, weigh_evenness
from memd.recall.unread import UNREAD_COVER

BIRTHDAY = "when is Jannik's birthday?"
BAR = 0.05


def an_item(relevance: float, mean: float, spread: float, **fields: Any) -> RankedCandidate:
    entry = an_entry(relevance, "Jannik works on Fridays", **fields)
    measured = replace(entry.measured, match=TokenMatch(mean, spread))
    return replace(entry, measured=measured, bar=BAR)


def with_cover(item: RankedCandidate, cover: float, own: str) -> RankedCandidate:
    """Return *item* with the text *own*, which has *cover* of the question's words."""
    measured = item.measured
    candidate = measured.candidate._replace(own=own)
    features, matched = {**measured.features, "cov": cover}, ("jannik",) if cover else ()
    measured = replace(measured, candidate=candidate, features=features, matched=matched)
    return replace(item, measured=measured)


def unread(relevance: float, cover: float, own: str = "Jannik", **fields: Any) -> RankedCandidate:
    return with_cover(an_item(relevance, 0.8, 0.1, **fields), cover, own)


def bars(*items: RankedCandidate, query: str = BIRTHDAY) -> list[float]:
    return [item.bar for item in weigh_evenness(items, query)]


def test_the_nearest_needs_less_where_it_is_matched_evenly_and_more_where_it_is_not() -> None:
    even, uneven = bars(an_item(0.9, 0.8, UNEVEN))[0], bars(an_item(0.9, 0.8, UNEVEN + 0.1))[0]

    assert even < BAR < uneven


def test_an_answer_is_without_what_is_matched_unevenly() -> None:
    even, uneven = an_item(0.9, 0.8, 0.1), an_item(0.1, 0.7, 0.4)

    selection = selected([even, uneven])

    assert [item.measured for item in selection.items[: selection.count_max]] == [even.measured]


def test_what_is_farther_than_the_nearest_needs_more() -> None:
    nearest, other, far = bars(*(an_item(0.9, mean, 0.1) for mean in (0.8, 0.5, 0.4)))

    assert nearest < BAR < other < far


def test_what_is_not_worth_its_place_makes_no_other_one_far() -> None:
    unlikely, item = an_item(0.01, 0.9, 0.1), an_item(0.9, 0.5, 0.1)

    assert bars(unlikely, item)[1] == bars(item)[0]


def test_what_is_likely_is_told_however_it_is_matched() -> None:
    item = weigh_evenness([an_item(0.35, 0.8, 0.6)], BIRTHDAY)[0]

    assert BAR < item.bar < item.relevance


@pytest.mark.parametrize(
    "fields",
    [{"speaker": "Tom"}, {"kind": DIGEST_TAG}, {"origin": Origin.ASSISTANT}],
    ids=["a turn", "composed", "an assistant's"],
)
def test_what_is_read_with_others_keeps_its_bar(fields: dict[str, Any]) -> None:
    assert bars(an_item(0.9, 0.8, 0.4, **fields)) == [BAR]


def test_what_was_before_has_the_bar_of_all() -> None:
    items = an_item(0.9, 0.8, 0.4), an_item(0.9, 0.3, 0.1)
    assert bars(*items, query="When did we meet before?") == [BAR, BAR]


def test_without_tokens_all_keep_their_bars() -> None:
    assert bars(an_item(0.9, 0.0, 0.0)) == [BAR]


GERMAN = "Wann hat Jannik Geburtstag?"


@pytest.mark.parametrize("query", [GERMAN, "ヤニックの誕生日はいつ?"], ids=["German", "Japanese"])
def test_of_a_question_that_the_model_does_not_read_the_likeliest_are_told(query: str) -> None:
    items = [unread(0.8, 0.3), unread(0.5, 0.3), unread(0.3, 0.3)]
    assert bars(*items, query=query) == [0.4, 0.4, 0.4]


def test_what_a_nap_composed_and_the_model_does_not_read_needs_a_word_of_the_question() -> None:
    text = "wir fahren im August zelten, was muss mit?"
    composed, stated = unread(0.8, 0.0, text, kind=NAP_TAG), unread(0.3, 0.0, text)

    assert bars(composed, stated, query=GERMAN) == [math.inf, 0.15]


def test_a_word_that_begins_like_one_of_the_question_is_enough() -> None:
    dentist = unread(0.8, 0.0, "die Zahnärztin ist montags da", kind=NAP_TAG)

    assert bars(dentist, query="Wann muss ich zum Zahnarzt?") == [0.4]


def test_of_what_a_nap_composed_a_name_alone_is_not_enough() -> None:
    items = [unread(0.8, times * UNREAD_COVER, kind=DIGEST_TAG) for times in (1, 0.9)]

    assert bars(*items, query=GERMAN) == [0.4, math.inf]


def test_a_model_without_token_vectors_reads_other_languages() -> None:
    items = [an_item(0.8, 0.0, 0.0), an_item(0.1, 0.0, 0.0)]
    assert bars(*items, query="Wann hat Jannik Geburtstag?") == [BAR, BAR]
