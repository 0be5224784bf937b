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
