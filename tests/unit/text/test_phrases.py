"""A pattern of phrases finds what ``re`` finds, and compiles only what a text may have."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

import memd.extract
import memd.sleep.distil
import memd.text
from memd.text.alternations import Phrases, anywhere

PATTERNS_MIN = 100
WRITTEN = Path(__file__).resolve().parents[2] / "bench" / "written.jsonl"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(?:colou?rs?|grey+|rats{2}|ca{0,2}t|do{1,2}g)\b",
        r"a(?:b|c(?:d|e)?)?f|[^ab]g|\bh\u2019i|\.md$",
        r"^\W*(?:so\W+)*(?:un(?:sure|clear)|not (?!now\b)sure)",
        r"(?:no|nope)?(?:thing|where)\b",
        r"(?P<who>we|i) (never|always)",
        r"(?>we|i)++ (?-i:Never)",
        r"x|",
    ],
)
def test_it_finds_what_re_finds(pattern: str) -> None:
    own, its = Phrases(pattern), re.compile(pattern, re.IGNORECASE)
    texts = [
        "",
        "Colours, GREY and a dooog",
        "acef bg h\u2019I README.MD",
        "So, unclear",
        "not sure",
    ]
    texts += ["nothing nowhere", "We never; I Never", "cat ct caat caaat ratss dog doog x"]
    for text in texts:
        for ours, true in (
            (own.search(text), its.search(text)),
            (own.match(text), its.match(text)),
            (own.fullmatch(text), its.fullmatch(text)),
        ):
            assert (ours and ours.span()) == (true and true.span()), text
        assert [each.span() for each in own.finditer(text)] == [
            e.span() for e in its.finditer(text)
        ]
        assert own.sub("_", text) == its.sub("_", text)


def _patterns(value: object) -> Iterator[Phrases]:
    """Yield the patterns of a value and of what it holds."""
    if isinstance(value, Phrases):
        yield value
    elif isinstance(value, Mapping):
        yield from chain.from_iterable(map(_patterns, value.values()))
    elif isinstance(value, list | tuple | frozenset):
        yield from chain.from_iterable(map(_patterns, value))


def test_every_pattern_of_phrases_finds_what_re_finds_in_what_people_wrote() -> None:
    patterns = {
        pattern
        for package in (memd.text, memd.extract, memd.sleep.distil)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for pattern in _patterns(vars(importlib.import_module(module.name)))
    }
    lines = WRITTEN.read_text("utf-8").splitlines()[::480]
    texts = [json.loads(line)["text"] for line in lines]
    assert len(patterns) > PATTERNS_MIN
    for pattern in patterns:
        its = re.compile(pattern.pattern, pattern.flags)
        for text in texts:
            ours, true = pattern.search(text), its.search(text)
            assert (ours and ours.span()) == (true and true.span()), (pattern.pattern, text)


def test_a_phrase_is_compiled_when_a_text_first_has_its_letters() -> None:
    rules = anywhere("from now on, in future, never (?:ever|again)")
    assert rules.search("what is the time") is None
    assert rules.phrases_compiled == 0
    assert rules.search("never again") is not None
    assert rules.phrases_compiled == 1
