"""Which later sentence of its owner takes a preference back."""

from __future__ import annotations

import pytest

from memd.ingest.withdrawals import may_withdraw, withdraws

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
