"""Who ends a wish names it, and what only sounds like it stays."""

from __future__ import annotations

import pytest

from memd.sleep.distil.user.ended_wishes import WishEnd


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("use analogies, i learn better with them", "stop the analogies please, i mix them up"),
        ("please add a summary at the end", "no more summaries"),
        ("always answer in French", "stop answering in French"),
        ("with examples please", "without examples from now on"),
        ("use emojis in the posts", "no emojis any more please"),
        ("Write the mails in a formal tone", "forget the formal tone"),
        ("always quiz me at the end", "ok, stop quizzing me at the end"),
        ("I want a table for every comparison", "I no longer want a table"),
        ("explain it with pictures", "stop the pictures, they confuse me"),
        ("mit Beispielen bitte", "ab jetzt ohne Beispiele"),
        ("schreib immer mit Emojis", "keine Emojis mehr"),
        ("utilise des images", "plus d'images s'il te plaît"),
        ("con ejemplos por favor", "no más ejemplos"),
        ("the caravan is too big. i want to sell it", "the caravan stays. forget selling"),
        ("I hate coriander btw, never put that in anything", "I like coriander now"),
        ("Ich hasse Rosinen", "Vergiss, dass ich Rosinen hasse"),
        ("explain diffusion. use analogies pls", "explain osmosis but stop the analogies"),
        (
            "super. I dont like long answers btw, two sentences are enough, always",
            "the thing with two sentences: forget that, from now on explain your reasoning",
        ),
        ("use emojis in the posts", "ok, the rule about emojis, drop it please"),
        ("use emojis in the posts", "what I said about emojis: forget it"),
    ],
)
def test_a_wish_is_ended_by_its_own_words(wish: str, later: str) -> None:
    assert WishEnd.of(later).ends(wish)
    assert not WishEnd.of(wish).ends(later)


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("use tables for comparisons", "no more long tables of prices"),
        ("always answer in French", "stop answering twice"),
        ("use analogies", "stop the music analogies"),
        ("use metric units", "no more imperial units"),
        ("always ask before you commit to main", "stop asking before you commit"),
        ("write in a formal tone", "stop the informal mails"),
        ("never use emojis", "no more emojis"),
        ("don't add summaries", "no more summaries"),
        ("i want to sell it", "forget selling"),
        ("the summaries are long", "no more summaries"),
        ("use bullet points. We deploy on Fridays.", "stop the bullet points"),
        ("use bullet points", "use bullet points again"),
        ("two sentences are enough", "the thing with three sentences: forget that"),
        ("two sentences are enough", "the thing with two sentences: don't forget that"),
        ("use tables", "the table is wrong, forget that"),
    ],
)
def test_what_only_sounds_like_it_leaves_a_wish(wish: str, later: str) -> None:
    assert not WishEnd.of(later).ends(wish)
