"""Which later sentence of its owner takes a preference back."""

from __future__ import annotations

import pytest

from memd.ingest.withdrawals import may_withdraw, withdraws, without_withdrawn

TAKEN_BACK = [
    ("I now prefer imperial units instead of metric.", "I prefer metric units."),
    ("I prefer spaces over tabs", "I prefer tabs"),
    ("Actually, I prefer spaces over tabs now.", "I prefer tabs"),
    ("I actually love cilantro now.", "I hate cilantro."),
    ("I don\u2019t hate cilantro any more", "I hate cilantro"),
    ("I hate tea now", "I prefer tea"),
    ("I don't want short answers any more.", "I prefer short answers."),
    ("I no longer use Vim", "I always use Vim"),
    ("I don't like the dark mode anymore.", "I prefer dark mode"),
    ("I prefer full sentences now, no bullet points any more", "I prefer short bullet points"),
    ("I prefer prose and no more bullet points", "I prefer bullet points."),
]
STANDS = [
    ("I prefer tea over coffee", "I prefer beer"),
    ("I love Bern", "I hate cilantro"),
    ("I don't use Vim on servers any more", "I always use Vim"),
    ("Do I still prefer tea?", "I prefer tea"),
    ("I prefer short answers", "I prefer short answers."),
    ("I like tea", "I prefer tea"),
    ("I hate tea", "I prefer tea"),
    ("I don't want coffee, thanks.", "I prefer coffee"),
    ("I don't want tabs now.", "I prefer tabs"),
    ("I don't use Rust", "I prefer Rust"),
    ("I don't want it any more", "I prefer it"),
    ("I don't want this any more", "I prefer this"),
    ("We no longer use Vim", "I always use Vim"),
    ("I don't want emojis any more.", "I prefer no emojis."),
    ("I don't want tea any more", "I prefer tea. Never call me before 9."),
    ("I changed my mind about the green, go back to what it was.", "I like green"),
    ("Thanks a lot. I don't want tea any more", "I prefer tea."),
    ("I don't want short answers any more", "I prefer short answers for emails."),
    ("I prefer tabs over spaces", "I prefer spaces for Python"),
    ("I don't use tabs here any more", "I prefer tabs"),
    ("I don't want tabs in this repo any more", "I prefer tabs in this repo"),
    ("I no longer use Vim, except on servers", "I always use Vim"),
    ("> I no longer use Vim", "I always use Vim"),
    ('Translate into German: "Hello. I hate tea now."', "I prefer tea"),
    ("I don't use C# any more", "I prefer C++"),
    ("I no longer want international news", "I prefer internal news"),
    ("I don't want tea any more", "Answer in German"),
    ("I prefer full sentences, no bullet points", "I prefer short bullet points"),
    ("I prefer prose, no bullet points in mails any more", "I prefer short bullet points"),
    ("I prefer full sentences now, no bullet points any more", "I prefer points"),
    ("I prefer full sentences now, no bullet points any more", "I hate short bullet points"),
    ("I prefer tea now, no coffee any more", "I prefer coffee for breakfast"),
]


@pytest.mark.parametrize(("text", "value"), TAKEN_BACK)
def test_what_is_said_of_the_same_takes_it_back(text: str, value: str) -> None:
    assert may_withdraw(text)
    assert withdraws(text, value)


@pytest.mark.parametrize(("text", "value"), STANDS)
def test_what_is_said_of_other_things_takes_nothing_back(text: str, value: str) -> None:
    assert not withdraws(text, value)


COMMON = (
    "I hate coriander btw, never put that in anything",
    "always answer in German, I live in Berlin",
    "I prefer short answers.",
    "I always use Vim",
    "I hate fish",
    "never use emojis",
    "Ich hasse Rosinen",
    "My favourite editor is Helix",
    "je déteste les champignons",
)
ENDS = {
    "I hate coriander btw, never put that in anything": [
        "I actually like coriander now, you can use it",
        "I like coriander now",
        "I no longer hate coriander",
        "I don't hate coriander anymore",
        "forget that I hate coriander",
        "coriander is fine after all",
        "turns out I quite like coriander now",
        "you can put coriander in things again",
        "I've come around to coriander",
        "coriander's ok now",
        "I eat coriander now btw",
        "actually coriander is great",
    ],
    "always answer in German, I live in Berlin": [
        "you no longer have to answer in German",
        "stop answering in German",
        "no more German please",
        "you can stop answering in German now",
    ],
    "I prefer short answers.": [
        "I don't need short answers any more",
        "it's not true any more that I prefer short answers",
        "drop the preference for short answers",
    ],
    "I always use Vim": [
        "I've stopped using Vim",
        "I don't use vim anymore, too slow",
        "I switched from Vim to Helix",
        "I no longer use vim, moved to zed",
    ],
    "I hate fish": [
        "please stop remembering that I hate fish",
        "I started eating fish again",
        "ok I don't mind fish any more",
        "forget what I said about fish",
        "I'm fine with fish now",
        "please forget about the fish thing",
        "I changed my mind about fish",
        "I love fish these days",
    ],
    "never use emojis": [
        "emojis are ok again",
        "you can use emojis again",
    ],
    "Ich hasse Rosinen": [
        "Ich mag Rosinen inzwischen",
        "Vergiss, dass ich Rosinen hasse",
        "du kannst wieder Rosinen nehmen",
        "Rosinen sind jetzt ok",
    ],
    "My favourite editor is Helix": [
        "Helix is no longer my favourite editor",
    ],
    "je déteste les champignons": [
        "je ne déteste plus les champignons",
        "finalement j'aime bien les champignons",
    ],
}
ONLY_RESEMBLES = [
    "my brother hates coriander too",
    "is coriander fine for the soup?",
    "he no longer hates fish",
    "I like coriander now and then",
    "I like coriander in curry now",
    "don't forget that I hate coriander",
    "I don't hate coriander",
    "forget that I hate fish for a moment",
    "my kids like fish now",
    "Anna no longer uses Vim",
    "answer this one in English",
    "stop answering twice",
    "short answers are fine",
    "I no longer hate cooking fish",
    "write a poem about why I no longer hate coriander",
    "the fish is fine now, it swims again",
    "can I eat fish again after the operation?",
    "translate: I no longer hate coriander",
    "Ich mag Rosinen nicht",
    "the emojis are broken again",
    "coriander is fine with fish",
    "I like the smell of coriander now",
    "my doctor says fish is fine again",
    "do you think I like fish now?",
    "she said I like coriander now",
    "the emojis are fine now in Safari",
    "I no longer use Vim at work",
    "I don't hate fish as much any more",
    "I love fish and chips now",
    "stop using German in the tests",
    "stop answering in German for this chat",
    "forget about it",
    "forget that I said hello",
    "you can use fish as a shell again",
    "Vim is ok again after the update",
    "remember that I hate coriander",
    "I changed my mind about the dinner",
    "never say I like fish now",
    "if I say I like coriander now, I am joking",
    "I used to hate coriander",
    "Thanks, actually the emojis are fine",
    "I don't use Vim any more, only at work",
]


@pytest.mark.parametrize(
    ("text", "value"), [(text, value) for value, texts in ENDS.items() for text in texts]
)
def test_who_ends_a_wish_names_it_and_ends_no_other(text: str, value: str) -> None:
    assert may_withdraw(text)
    assert [each for each in COMMON if withdraws(text, each)] == [value]


@pytest.mark.parametrize("text", ONLY_RESEMBLES)
def test_what_only_resembles_it_ends_none(text: str) -> None:
    assert [each for each in COMMON if withdraws(text, each)] == []


def test_a_preference_with_another_wish_beside_it_stands() -> None:
    for value in ("I hate coriander. Always answer in German.", "I hate coriander, except raw"):
        assert not withdraws("I no longer hate coriander", value)


FORGET_TWO = (
    "the thing with two sentences: forget that, from now on explain your reasoning, longer is ok"
)


@pytest.mark.parametrize(
    ("text", "value", "left"),
    [
        (FORGET_TWO, "Two sentences, no praise", "no praise"),
        (FORGET_TWO, "Two sentences are enough", ""),
        (FORGET_TWO, "Three sentences, no praise", "Three sentences, no praise"),
        (FORGET_TWO, "Two sentences, except for plans", "Two sentences, except for plans"),
        ("the rule about emojis: drop it", "Tabs, never use emojis, no praise", "Tabs, no praise"),
        (
            "stop answering in German",
            "Answer in German, except in mails",
            "Answer in German, except in mails",
        ),
        ("I like coriander now", "I hate coriander, never put that in anything", ""),
    ],
)
def test_of_a_list_of_wishes_one_may_be_taken_back(text: str, value: str, left: str) -> None:
    assert without_withdrawn(text, value) == left


WISHES = [
    "I always sit on the aisle on planes",
    "please always answer short, i read on my phone half the time",
    "please always answer short",
    "Bitte keine Emojis",
    "Ich hasse Koriander",
    "Bitte duz mich",
    "bitte keine Vorschläge mit Kokos, emil hasst kokos",
    "I hate coriander",
    "Ich sitze im Zug immer am Gang",
    "My favourite tea is Earl Grey",
    "never use emojis",
    "Ich mag keine Rosinen",
    "no suggestions with nuts, tom hates nuts",
    "Ich trinke keinen Kaffee",
    "Fass dich kurz",
    "Ich esse keinen Fisch",
]
ENDS_OF_WISHES = [
    ("I like the window seat now, not the aisle", {0}),
    ("I don't mind where I sit on planes any more", {0}),
    ("I'd rather have the window now, not the aisle", {0}),
    ("ab und zu ein Emoji ist ok", {3, 10}),
    ("Emojis darfst du wieder benutzen", {3, 10}),
    ("Koriander ist jetzt doch ganz lecker", {4}),
    ("you can answer longer again", {1, 2, 14}),
    ("vergiss das mit den kurzen antworten", {1, 2, 14}),
    ("Ein Emoji ab und zu ist in Ordnung", {10, 3}),
    ("an emoji now and then is fine", {10, 3}),
    ("Emojis sind wieder ok", {10, 3}),
    ("Koriander mag ich inzwischen", {4}),
    ("koriander ess ich jetzt wieder", {4}),
    ("ich mag jetzt doch Koriander", {4}),
    ("Koriander schmeckt mir inzwischen", {4}),
    ("Bitte sieze mich lieber", {5}),
    ("emil mag kokos jetzt doch", {6}),
    ("tom likes nuts now", {12}),
    ("I prefer the window now, no longer the aisle", {0}),
    ("du darfst wieder ausführlicher antworten", {1, 2, 14}),
    ("longer answers are fine again", {1, 2, 14}),
    ("Rosinen gehen jetzt", {11}),
    ("Rosinen mag ich jetzt", {11}),
    ("mir ist jetzt egal, wo ich im zug sitze", {8}),
    ("vergiss das mit dem Koriander", {4}),
    ("vergiss das mit den emojis", {10, 3}),
    ("please answer in detail again", {1, 2, 14}),
    ("ich trinke wieder Kaffee", {13}),
    ("Kaffee trinke ich jetzt wieder", {13}),
    ("Fisch esse ich jetzt wieder", {15}),
    ("I like coriander now", {7}),
    ("ich will keine kurzen Antworten mehr", {1, 2, 14}),
    ("I sit by the window now, not on the aisle", {0}),
]
ENDS_NO_WISH = [
    "I like coriander seeds now",
    "we have window seats now",
    "I like the window seat now",
    "the window seat is free now, not the aisle",
    "put it by the window, not the aisle",
    "is the aisle seat free again?",
    "you can answer later again",
    "answer the longer question first",
    "can you answer this one longer?",
    "a longer answer for this one please",
    "the short answers were good",
    "the answers are short again",
    "Emil mag jetzt Rosinen nicht",
    "emil mag keinen kokos",
    "emil mag kokos nicht mehr",
    "frida mag kokos jetzt",
    "tom likes nut butter now",
    "mein bruder mag koriander jetzt",
    "Koriander mag ich inzwischen im Curry",
    "Koriander ist inzwischen alle",
    "der Koriander ist wieder da",
    "die Emojis sind wieder kaputt",
    "ein Emoji ist in der Datei",
    "Kaffee ist wieder da",
    "ich trinke jetzt einen Kaffee",
    "jetzt gehen wir zu den Rosinen",
    "Rosinen gehen uns aus",
    "vergiss das mit dem Termin",
    "vergiss nicht das mit dem Koriander",
    "ich duze jetzt den Chef",
    "der Chef siezt mich wieder",
    "schreib der Lehrerin, sieze sie",
    "I don't mind planes any more",
    "I don't mind where we eat any more",
    "I don't know where I sit on planes any more",
    "she likes the aisle now",
    "mir ist egal, was im zug passiert",
    "we answer longer mails now",
    "Hunde mögen Koriander inzwischen",
    "I like the aisle now, not the window",
    "wir haben wieder Fisch",
    "ich esse jetzt Fisch zu Mittag",
    "die Antwort war länger",
    "now answer in english, not german, for this mail",
    "emil mag jetzt doch keinen Kokos",
    "the coconut is fine now",
]


@pytest.mark.parametrize(("text", "places"), ENDS_OF_WISHES)
def test_the_object_is_named_again_with_a_word_of_change(text: str, places: set[int]) -> None:
    assert may_withdraw(text)
    assert {place for place, value in enumerate(WISHES) if withdraws(text, value)} == places


@pytest.mark.parametrize("text", ENDS_NO_WISH)
def test_what_is_near_a_wish_does_not_end_it(text: str) -> None:
    assert [value for value in WISHES if withdraws(text, value)] == []
