"""No text costs a detector much more than any other of its length.

A detector is every public function of the packages below whose first parameter is a text.
They are found in the modules, so that a new one is here without anybody thinking of it. Each
reads honest texts, of which the dearest sets the measure, and texts made to be slow: what its
module's patterns begin with, long runs of what they repeat, and the one before the other.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from support.fakes import QuarterCounter
from support.largest_params import HONEST, UNITS
from support.work_units import effort

import memd.extract
import memd.guard
import memd.recall
import memd.signals
import memd.text
import memd.text.wishes
import memd.view
from memd.guard import secrets
from memd.text.alternations import Phrases

_parser: Any = importlib.import_module("re._parser")
_LETTERS = "aA1 _-.,:/@\"'\n\t<>()[]{}=+*#`?!;&%$|~^\\\u00e9\u5e02\u3042\uac00\u200b"
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))
_RUN_MAX = 60


def patterns_of(module: ModuleType) -> list[re.Pattern[str] | Phrases]:
    """Return the patterns that *module* holds, also those in its tables."""
    by_source = {one.pattern: one for value in vars(module).values() for one in _within(value, 3)}
    return list(by_source.values())


def _within(value: Any, depth: int) -> Iterator[re.Pattern[str] | Phrases]:
    if isinstance(value, re.Pattern | Phrases):
        if isinstance(value.pattern, str):
            yield value
    elif depth and isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _within(each, depth - 1)


def units(pattern: re.Pattern[str] | Phrases, chance: random.Random, count: int = 4) -> set[str]:
    """Return short texts that are beginnings of what *pattern* matches, or what it repeats."""
    tree = _parser.parse(pattern.pattern, pattern.flags)
    texts: set[str] = set()
    for _ in range(count):
        parts = [_sample([part], chance) for part in _flat(tree)]
        texts |= {"".join(parts[:end])[:200] for end in range(1, len(parts) + 1)}
        texts |= {_sample(each, chance)[:100] for each in _repeated(tree)}
    return texts - {""}


def _flat(tree: Any) -> Iterator[Any]:
    for code, value in tree:
        if str(code) == "SUBPATTERN":
            yield from _flat(value[3])
        else:
            yield code, value


def _repeated(tree: Any) -> Iterator[Any]:
    for code, value in tree:
        name = str(code)
        if name in _REPEATS:
            yield value[2]
            yield from _repeated(value[2])
        elif name == "BRANCH":
            for each in value[1]:
                yield from _repeated(each)
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"}:
            yield from _repeated(value[3] if name == "SUBPATTERN" else value)


def _sample(tree: Any, chance: random.Random) -> str:
    return "".join(_part(str(code), value, chance) for code, value in tree)


def _part(name: str, value: Any, chance: random.Random) -> str:
    if name in _REPEATS:
        low, high, inner = value
        most = min(int(high), int(low) + chance.choice((0, 1, 3)), _RUN_MAX)
        return "".join(_sample(inner, chance) for _ in range(most))
    if name in {"SUBPATTERN", "ATOMIC_GROUP", "BRANCH"}:
        inside = {"SUBPATTERN": lambda: value[3], "BRANCH": lambda: chance.choice(value[1])}
        return _sample(inside.get(name, lambda: value)(), chance)
    letters = {
        "LITERAL": lambda: [chr(value)],
        "IN": lambda: _members(tuple(value)),
        "ANY": lambda: ["a"],
        "NOT_LITERAL": lambda: [letter for letter in "a1-" if ord(letter) != value],
    }
    return chance.choice(letters[name]()) if name in letters else ""  # a place, a look around


@cache
def _members(items: tuple[Any, ...]) -> list[str]:
    """Return some letters of a set; thousands of samples ask for the same few hundred."""
    negated = str(items[0][0]) == "NEGATE"
    letters = [letter for letter in _LETTERS if _is_in(letter, items) != negated]
    for code, value in items if not negated else ():
        letters += [chr(value)] if str(code) == "LITERAL" else []
        letters += [chr(value[0])] if str(code) == "RANGE" else []
    return letters or ["a"]


def _is_in(letter: str, items: Any) -> bool:
    kinds = {
        "CATEGORY_DIGIT": letter.isdigit(),
        "CATEGORY_SPACE": letter.isspace(),
        "CATEGORY_WORD": letter.isalnum() or letter == "_",
    }
    for code, value in items:
        name = str(code)
        if name == "LITERAL" and ord(letter) == value:
            return True
        if name == "RANGE" and value[0] <= ord(letter) <= value[1]:
            return True
        if name == "CATEGORY":
            kind = str(value)
            if kinds.get(kind.replace("_NOT", ""), False) != ("_NOT" in kind):
                return True
    return False


PACKAGES = (
    memd.extract, memd.guard, memd.text, memd.text.wishes, memd.recall, memd.signals, memd.view,
)  # fmt: skip
CHARS = 6_000
FACTOR_MAX = 3.0
"""What a hostile text may cost, of what the dearest honest one does, and of what a plain one
costs all detectors together."""
FREE_UNITS = 0.1
"""What any text of CHARS may cost a detector that costs an honest one next to nothing: all of
them together take some twenty times that for an honest text, and a quadratic one hundreds."""
PATTERN_UNITS_MAX = 30
ROUNDS, TRIES = 5, 5


MORE: dict[str, Any] = {
    "counter": QuarterCounter(),
    "now_us": 1_790_000_000_000_000,
    "names": frozenset({"ann", "kafka"}),
    "tags": ("memory",),
    "policy": "redact",
    "stem": lambda word: (word,),
    "tag": "memory-entry",
}
"""What a detector takes besides the text, by the parameter's name."""
NO_DETECTORS = {
    "alternations", "client_key", "embed", "fetch", "install", "install_reranker", "model_files",
    "reranker_files", "time_words", "secret_shapes", "secret_checks", "timeline", "cells",
    "recall", "rerank",
}  # fmt: skip
"""Modules that read no text of a stranger's, or a short one that another module cut."""
SHORT = {"things.name", "things.unwrap", "things.loose_name", "verbs.parse_relation"} | {
    "fold.is_bracket",
    "fold.is_visible",
}
"""Read a name of a few words, and refuse a longer text unread; those of ``fold`` read a sign."""

HONEST_TEXTS = (
    HONEST,
    "def parse(line: str) -> list[int]:\n    return [int(x) for x in line.split(',')]  # '1,2'\n\n",
    "2026-01-03T10:11:12Z ERROR [worker-3] request id=9f8e7d6c failed: refused (10.0.0.7:5432)\n",
    "# Notes\n\n- **Deploy**: run `make deploy`, see https://example.org/a?x=1\n- I use tabs.\n\n",
    '{"name": "value", "n": 12.5, "items": ["a", "b"], "ok": true}\n',
    "Die Besprechung ist am Montag um 10 Uhr; wir m\u00fcssen das Caf\u00e9 buchen. "
    "\u79c1\u306f\u6771\u4eac\u306b\u884c\u304d\u307e\u3059\u3002 ",
    '<li class="row"><a href="/a?x=1&amp;y=2">\u201cOne\u201d</a> <b>two</b> &lt;x&gt;</li>\n',
    "'<memory>' and '</memory>' stand around it; a <memory-entry> is one line of it.\n",
    "Monday\nmilk\neggs\n\nTuesday\n1,2\n3,4\n- a\n- b\n",
    "```sh\nmake\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n1. One:\n   - two\n",
    'API_KEY="your-key-here"\nTOKEN=${TOKEN}\nsha512-9fX0bXo2vA1kq3nYw8ZtqJ7u5cR4mD6e\n'
    "id: 3f2b8c1e-9a7d-4e21-8f60-1b2c3d4e5f60 AKIAIOSFODNN7EXAMPLE\n",
    "<math><mrow><mi>m</mi><mo>=</mo><msup><mi>a</mi><mn>2</mn></msup></mrow></math>\n",
    "deploy: ghp_0123456789abcdefghijABCDEFGHIJ012345\nAKIAIOSFODNN7GATEWAY\n",
    "_**User (2026-01-03 10:11:12Z)**_\n\nis it up?\n\n---\n\n_**Agent**_\n\nyes\n\n",
    "10:00-11:30 on 3 March 2026, next Monday, last week at 5 pm, 2019-12-31, in 2019; ",
    "User: is it up?\nAssistant: yes. [2026-01-03] - score: 0.9\n> ok!!\n\nSystem: done\n",
    "## Lessons\n\n- Always run the tests first.\n\n* leçons :\n\n  - Ne jamais pousser.\n\n",
    "  * lecciones:\n\n\n\n- Learned:\n\n\n  * aprendido:\n\n",
    "_**User**_\n\nyes\n\n_**Agent (a1)**_\n\nok\n\n_**User**_\n\ngo\n\n",
    "x y z\na b c\n1 2 3\nA B C\ni j k; my a.b.c is x.y.z, e.g. v1.2.3, p.q.r, s.t, u.v.w.\n",
    "No. Yes . . . well, J. R. wrote it, e.g. a. b. c. 3. 4. Ok! Why? Go. I. See. e. g. so. x. y. ",
    "<think><details><summary>Thought</summary>\nabc\n</details></think>\n\n<think>ab</think>\n",
    "<memory-entry>\n[semantic | score: 0.9] a\n</memory-entry>\n&lt;memory&gt;\n<memory&gt;\nb\n",
    "tool        version     state\nmemd        0.1         ok\nuser        -           -\n",
)  # fmt: skip


def detectors() -> Iterator[tuple[str, Callable[[str], object], ModuleType]]:
    """Yield every detector as a function of a text alone, and its module."""
    for package in PACKAGES:
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if info.name.rsplit(".", 1)[1] not in NO_DETECTORS and not info.ispkg:
                yield from _of(importlib.import_module(info.name))


def _of(module: ModuleType) -> Iterator[tuple[str, Callable[[str], object], ModuleType]]:
    for name, value in vars(module).items():
        function = inspect.unwrap(value) if callable(value) else value  # what a cache calls
        called = f"{module.__name__.rsplit('.', 1)[1]}.{name}"
        if name.startswith("_") or not inspect.isfunction(function) or called in SHORT:
            continue
        if function.__module__ == module.__name__ and (more := _more(function)) is not None:
            yield called, _alone(function, more), module


def _more(function: Callable[..., object]) -> dict[str, Any] | None:
    """Return what *function* takes besides a text; None when it takes no text, or more."""
    takes = list(inspect.signature(function).parameters.values())
    if not takes or takes[0].annotation not in {"str", str}:
        return None
    needed = [each.name for each in takes[1:] if each.default is each.empty]
    return {name: MORE[name] for name in needed} if set(needed) <= MORE.keys() else None


def _alone(function: Callable[..., Any], more: dict[str, Any]) -> Callable[[str], object]:
    def call(text: str) -> object:
        matches = function(text, **more)
        return list(matches) if isinstance(matches, Iterator) else matches

    return call


FOUND = {name: (call, module) for name, call, module in detectors()}


def hostile(module: ModuleType) -> Iterator[str]:
    """Yield texts of CHARS that are made for the patterns of *module*, besides ``UNITS``."""
    chance = random.Random(7)  # the same texts each time
    own = {unit for pattern in patterns_of(module) for unit in units(pattern, chance)}
    picked = chance.sample(sorted(own), min(len(own), PATTERN_UNITS_MAX))
    yield from map(repeated, picked)
    for unit in picked[: PATTERN_UNITS_MAX // 3]:
        for run in ("a", " ", "\n"):
            yield (unit + run * CHARS)[:CHARS]


def repeated(unit: str) -> str:
    """Return *unit* again and again, CHARS long."""
    return (unit * (CHARS // len(unit) + 1))[:CHARS]


@cache
def costs_of_units(name: str) -> dict[str, float]:
    """Return what each text of ``UNITS`` costs a detector at the first look, in seconds."""
    call, _ = FOUND[name]
    return {text: cost_s(call, text) for text in map(repeated, UNITS)}


def cost_s(call: Callable[[str], object], text: str) -> float:
    secrets.SCREENED.clear()  # as if seen for the first time
    before = time.thread_time()
    call(text)
    return time.thread_time() - before


@pytest.mark.parametrize("name", sorted(FOUND))
def test_no_text_costs_a_detector_much_more_than_honest_ones(name: str) -> None:
    call, module = FOUND[name]
    costs = costs_of_units(name) | {text: cost_s(call, text) for text in hostile(module)}
    dearest = max(costs, key=lambda text: costs[text])
    cost = ""
    for _ in range(TRIES):
        ratio = min(ratios(call, dearest))
        if ratio <= FACTOR_MAX:
            return
        with effort() as spent:  # as dear as many of the texts: measured where it decides
            dearest_s = min(cost_s(call, dearest) for _ in range(ROUNDS))
        if dearest_s <= FREE_UNITS * spent.unit_s:
            return
        cost = f"{ratio:.1f} times, {dearest_s / spent.unit_s:.2f} units"
    pytest.fail(f"{cost}: {dearest[:40]!r}")


def ratios(call: Callable[[str], object], dearest: str) -> Iterator[float]:
    """Yield how many times each honest text *dearest* costs, up to one that it may cost.

    In turns, and the least of each: what else the machine does costs time, too. It never makes a
    text cheaper, so one try within bounds is enough.
    """
    dearest_s = min(cost_s(call, dearest) for _ in range(2))
    for plain in map(repeated, HONEST_TEXTS):
        if (ratio := dearest_s / cost_s(call, plain)) <= FACTOR_MAX:
            rounds = [(cost_s(call, plain), cost_s(call, dearest)) for _ in range(ROUNDS)]
            plain_s, dearest_s = map(min, zip(*rounds, strict=True))
            ratio = dearest_s / plain_s
        yield ratio
        if ratio <= FACTOR_MAX:
            return


def test_no_text_costs_all_of_them_together_three_times_a_plain_one() -> None:
    plain = repeated(HONEST)
    plain_s = min(_cost_of_all_s(plain) for _ in range(2))
    costs = {
        text: sum(costs_of_units(name)[text] for name in FOUND) for text in map(repeated, UNITS)
    }
    # Nothing makes a text cheaper than it is: one that is within bounds needs no other look.
    dear = [text for text in costs if costs[text] > FACTOR_MAX * plain_s]
    ratio_texts = [""] * TRIES
    for turn in range(TRIES if dear else 0):
        rounds = [(_cost_of_all_s(plain), max(map(_cost_of_all_s, dear))) for _ in range(2)]
        plain_s, dearest_s = map(min, zip(*rounds, strict=True))
        if dearest_s <= FACTOR_MAX * plain_s:
            return
        ratio_texts[turn] = f"{dearest_s / plain_s:.1f}"
    assert not dear, f"{', '.join(ratio_texts)} times"


def _cost_of_all_s(text: str) -> float:
    return sum(cost_s(call, text) for call, _ in FOUND.values())


def test_the_known_detectors_are_found() -> None:
    known = {"suspicion.suspicion", "secrets.screen", "passing.passing_kind", "view.view",
             "preference.is_preference", "importance.salience", "route.route", "density.score",
             "lessons.extract_lessons", "times.find_periods", "importance.has_name",
             "chunk.clean",
             "statements.extract_statements", "statements.extract_triples"}  # fmt: skip
    assert known - FOUND.keys() == set()
