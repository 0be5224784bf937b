"""Of the documented formats of tokens at least 95 in a hundred are found, and no format is lost.

No token in this repository is one: they are made up when the test runs.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import random
import re

import pytest
from support.commands import run_python
from support.secret_keywords import words
from support.token_formats import formats, token
from support.work_units import effort

from memd.guard.redaction import redact, redact_params
from memd.guard.secret_rules import Detector, read_rules, shapes
from memd.guard.secret_shapes import SecretShape
from memd.guard.secrets import SCREENED, screen, screen_name

FORMATS = formats()
SEEDS = 25


@functools.cache
def screened(name: str, seed: int) -> str:
    return screen(token(name, seed)[0]).text


def test_at_least_95_of_a_hundred_documented_formats_are_found() -> None:
    hits = [
        token(name, seed)[1] not in screened(name, seed)
        for name in FORMATS
        for seed in range(SEEDS)
    ]
    print(f"formats: {len(FORMATS)}, tokens found: {sum(hits)} of {len(hits)}")
    assert len(FORMATS) >= 100
    assert sum(hits) >= 0.95 * len(hits)


@pytest.mark.parametrize("name", FORMATS)
def test_a_token_of_each_format_is_replaced_in_every_way_in(name: str) -> None:
    """A text, a name, a value in params, and what leaves; a few lack the disorder a rule asks."""
    replaced = 0
    for seed in range(SEEDS):
        text, secret = token(name, seed)
        ways = (
            screened(name, seed),
            screen(f"We talked.\n{text}\nAnd on.").text,
            str(redact_params({"query": text})["query"]),
            str(redact_params({"items": [{"tags": [text]}]})["items"][0]["tags"][0]),
            redact(text),
            screen_name(text),
        )
        replaced += not any(secret in way for way in ways)
    assert replaced >= SEEDS - 3


def test_what_leads_to_a_secret_stays() -> None:
    text, secret = token("azure storage", 1)
    assert secret not in screen(text).text
    assert screen(text).text.startswith("DefaultEndpointsProtocol=https;AccountName=bees;")


def test_the_rules_say_where_they_are_from_and_keep_their_licences() -> None:
    held = read_rules()
    licence = importlib.resources.files("memd.guard").joinpath("secret_rules.LICENSE")
    assert held["source"].startswith("kingfisher-secret-scanner ")
    assert len(held["rules"]) > 400
    for name in ("Betterleaks", "Zachary Rice", "MIT License", "Apache License", "Google LLC"):
        assert name in licence.read_text("utf-8")


def test_whatever_a_pattern_matches_has_its_keywords() -> None:
    assert not [shape.kind for shape in shapes() if not _has_its_keywords(shape)]


def _has_its_keywords(shape: SecretShape) -> bool:
    needed, keywords = words(shape.pattern), re.compile(shape.keywords, re.IGNORECASE)
    return bool(needed) and all(keywords.search(word) for word in needed)


def test_rules_are_compiled_as_far_as_texts_need_them() -> None:
    detector = Detector(shapes())
    assert not list(detector.find("/home/somebody/.local/share/memd/memd.db"))
    assert not detector.compiled_count
    assert [match.shape.kind for match in detector.find(token("gitlab personal", 1)[0])]
    assert 0 < detector.compiled_count < 20


def test_no_text_is_too_much_for_the_look_at_keywords() -> None:
    """RE2 finds nothing when its memory is over, and says so to nobody."""
    chance = random.Random(1)
    begun = [word[:-1] for shape in shapes() for word in words(shape.pattern)]
    text = "".join(f"{chance.choice(begun)}{chance.choice('xY9 ')}" for _ in range(100_000))
    spoken, secret = token("github classic", 1)
    whole = f"{text} {spoken}"
    secrets = {whole[match.secret_start : match.end] for match in Detector(shapes()).find(whole)}
    assert secret in secrets


def test_no_rule_is_read_or_compiled_before_a_text_comes() -> None:
    program = "import sys, json, memd.guard.secrets; print(json.dumps('re2' in sys.modules))"
    assert json.loads(run_python(program)) is False


_HINTS = [
    "eyJaaaaaaaa", "sk-", "secret key = ", "xoxb-1", "curl -H ", "amplitude key ", "ghp_",
    "AccountKey ", "-----BEGIN PRIVATE KEY-----", "://a:b@", "password:", "0", "a", "discord = ",
    "PuTTY-User-Key-File-3: ", "machine a login b password ", "authorization: basic ",
]  # fmt: skip


@pytest.mark.parametrize("hint", _HINTS)
def test_no_text_makes_the_rules_slow(hint: str) -> None:
    """Ten times the text is about ten times the work: nothing is looked at again and again."""
    short, long = (hint * (size // len(hint)) for size in (30_000, 300_000))
    screen(short)
    with effort() as little:
        for _ in range(10):
            SCREENED.clear()  # as if seen for the first time
            screen(short)
    with effort() as much:
        screen(long)
    assert much.units < 3 * little.units + 5
