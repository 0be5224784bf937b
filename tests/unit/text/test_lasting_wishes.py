"""Orders to the assistant that last are wishes wherever they are said (decision 0415)."""

from __future__ import annotations

import pytest

from memd.text.preference import default_category, is_preference
from memd.text.wishes.lasting import has_wish

WISHES = [
    "please always answer short, i read on my phone half the time",
    "please always answer short",
    "ich möchte ab jetzt auf Deutsch antworten bekommen, auch wenn ich englisch schreibe",
    "ab jetzt bitte immer auf Deutsch antworten",
    "In Briefen an Ämter und Verwaltung bitte nie Ausrufezeichen benutzen",
    "don't tell me every time that this is no investment advice",
    "never suggest pork for birte",
    "Sag mir nie, dass das keine Anlageberatung ist",
    "from now on call me Hanne",
    "antworte ab jetzt kurz",
    "bitte immer duzen",
    "never apologise",
]
NO_WISHES = [
    "never seen that before",
    "always nice to hear from you",
    "always run the tests",
    "never mind",
    "I always answer late",
    "my boss says always answer within a day",
    "immer noch krank",
    "nie wieder Alkohol",
    "ich habe immer auf Deutsch geantwortet",
    "ab jetzt wird alles teurer",
    "in Zukunft fährt der Bus bis Moosach",
    "tell me every time zone in Europe",
    "tell me about the time the bus always came late",
    "give me always two options?",
    "explain why the tests always fail",
    "write me a poem that says never give up",
    "what should I always tell the doctor",
    "frag Birte, ob sie immer kommt",
    "sag Emil, dass er nie allein gehen soll",
    "schreib der Lehrerin: bitte nie mehr Nüsse benutzen",
    "zeig mir, warum das immer passiert",
    "in der Schule immer Englisch sprechen?",
    "die Kinder sollen immer höflich antworten",
    "wir reden nie darüber",
    "show me the function that is always called",
    "give me the list from now on the wall",
    "explain the future perfect",
    "wir antworten immer auf Deutsch",
    "gib mir alle Züge, die immer fahren",
    "remind me to always lock the door",
    "call me maybe",
    "nenne mir Filme, die nie langweilig sind",
]


@pytest.mark.parametrize("text", WISHES)
def test_it_is_one_in_a_chat_and_by_hand(text: str) -> None:
    assert is_preference(text)
    assert default_category(text, None) == "procedural"


@pytest.mark.parametrize("text", NO_WISHES)
def test_other_sentences_with_such_words_are_none(text: str) -> None:
    assert not has_wish(text)
