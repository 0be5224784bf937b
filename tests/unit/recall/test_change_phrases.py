"""Texts that say that something is otherwise than it was, and texts that do not."""

from __future__ import annotations

import pytest

from memd.recall.ranking.change_phrases import announces_change, changes_number, corrects, holds_now


@pytest.mark.parametrize(
    "text",
    ["the api is now on 8443", "we use tabs now", "not any more", "it used to be Redis",
     "the pin was wrong", "it turned out that PB5 is it", "we switched to Vite", "went back to npm",
     "pnpm instead of npm", "tea rather than coffee", "nicht mehr am Montag", "er ist jetzt blau",
     "das war falsch", "Tee statt Kaffee", "on ne livre plus", "du thé au lieu du café",
     "ya no es lunes", "té en vez de café", "non più lunedì", "tè invece di caffè",
     "já não é assim", "chá em vez de café", "niet meer op maandag", "in plaats van koffie"],
)  # fmt: skip
def test_each_way_to_say_so_is_known(text: str) -> None:
    assert corrects(text)


@pytest.mark.parametrize(
    "text",
    ["we sold the van", "no need for the key", "Ab sofort nur Tee", "the old host is down",
     "back to npm", "on a déménagé", "starting monday it is at 9", "she raised the limit"],
)  # fmt: skip
def test_what_tells_of_an_event_changes_something_and_corrects_nothing(text: str) -> None:
    assert announces_change(text)
    assert not corrects(text)


def test_what_corrects_tells_of_a_change_too() -> None:
    assert all(map(announces_change, ("erratum: it is 8", "it used to be Redis", "non più lunedì")))


@pytest.mark.parametrize("text", ["the lid is blue", "we use tabs", "we know the town"])
def test_what_only_states_something_changes_nothing(text: str) -> None:
    assert not any(says(text) for says in (announces_change, changes_number, holds_now))
