"""Fits what tells a convention: ``python -m tests.bench.conventions DIR PAGES [--keep]``.

"Errors are logged in English": people seldom say so to an agent in passing, and often write it on
the pages of rules that agents read. PAGES holds checkouts of collections of such pages (``SOURCES``
says at which commits), DIR the pages of ``bench.sentences``, whose sentences of the moment are what
is no convention. The fit is a logistic regression on the states of a sentence and its length. The
table says, with each writer left out in turn, how many of the sentences of the moment that the
rules leave out would be kept at each bar, and of ``sayings.txt`` (written by somebody who knew
neither rules nor states) how many conventions and how many sentences that sound like one.
``--keep`` writes the weights into the package. Nothing of the pages is in the repository.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.classified import encoder
from bench.memory_fit import logistic_regression
from bench.readings import LABELS
from bench.sentence_fit import FOLDS, HEAD, STATES_SCALE, Row, package_head, read
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.acts import Judgement, judge_sentence
from memd.sleep.distil.language.manner import may_be_rule
from memd.sleep.distil.speech import convention_signs, may_be_convention
from memd.text.words import sentences

Array = NDArray[np.float64]

SOURCES = {
    "awesome-cursorrules": "PatrickJS/awesome-cursorrules@b044f956",
    "awesome-cursor-rules-mdc": "sanjeed5/awesome-cursor-rules-mdc@8fbf2690",
    "awesome-copilot": "github/awesome-copilot@ab7544d0",
    "agent-rules": "steipete/agent-rules@d0070fac",
    "ai-prompts": "instructa/ai-prompts@71a75d37",
}
PAGES = re.compile(r"\.mdc$|\.cursorrules$|\.instructions\.md$|(?:^|/)(?:CLAUDE|AGENTS)\.md$")
SAYINGS = LABELS.parents[1] / "unit" / "sleep" / "distil" / "sayings.txt"
OF_A_PAGE = 25
RULES = 8_000
RULE_WEIGHT = 0.5
RIDGE = 8.0
WORDS = (3, 22)
BARS = (2.5, 2.0, 1.5, 1.0, 0.5, 0.0)
SEED = 7
_INSTRUCTS = re.compile(
    r"^(?:use|avoid|prefer|keep|write|never|always|do not|don't|ensure|follow|include|add|name"
    r"|define|handle|put|place|limit|return|validate|separate|organi[sz]e|all|every|each|no|only"
    r"|when|if|before|after)\b"
    r"|\b(?:are|is|go(?:es)?|must|should|needs?|uses?|follows?|ha(?:s|ve)|gets?|lives?|no|not|never"
    r"|always|in|per|only)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[`<>{}=|]|->|:$")
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?")
_FENCED = re.compile(r"\A---\n.*?\n---\n|```.*?```", re.DOTALL)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.conventions", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("pages", type=Path, metavar="PAGES")
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    rules = read_rules(options.pages)
    rows, states = read(options.folder)
    of_pages = features(rules)
    of_users = np.hstack([states[:, :DIMENSION], _signs([row.text for row in rows])])
    for line in table(rows, of_users, of_pages):
        print(line)
    if options.keep:
        head = package_head() | document(fit(rows, of_users, of_pages))
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def read_rules(folder: Path) -> list[str]:
    """Return sentences of the pages of rules, a part of them as somebody would type them."""
    chance = random.Random(SEED)
    rules: dict[str, str] = {}
    for name, source in SOURCES.items():
        if not (folder / name).is_dir():
            raise SystemExit(f"no checkout of {source} in {folder / name}")
        for path in sorted((folder / name).rglob("*")):
            if path.is_file() and PAGES.search(path.as_posix()):
                own = list(dict.fromkeys(_rules_of(path.read_text("utf-8", errors="replace"))))
                picked = chance.sample(own, min(len(own), OF_A_PAGE))
                rules |= {rule.casefold(): rule for rule in picked}
    drawn = chance.sample(sorted(rules.values()), min(len(rules), RULES))
    return [_typed(rule, at) for at, rule in enumerate(drawn)]


def _rules_of(text: str) -> Iterator[str]:
    for line in _FENCED.sub("", text).split("\n"):
        plain = re.sub(r"\*\*|__", "", _ITEM.sub("", line.strip()))
        if plain.startswith(("#", "|", "![", "//")):
            continue
        for sentence in sentences(plain):
            count = len(sentence.split())
            is_rule = WORDS[0] <= count <= WORDS[1] and _INSTRUCTS.search(sentence)
            if is_rule and sentence.isascii() and not _CODE.search(sentence):
                yield sentence


def _typed(rule: str, at: int) -> str:
    """Return *rule*, every second without its point and every third without its capital."""
    shown = rule.rstrip(".") if at % 2 else rule
    return shown if at % 3 or shown[:2].isupper() else shown[0].lower() + shown[1:]


def features(texts: Sequence[str]) -> Array:
    """Return the features of sentences that are messages of their own."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    states = []
    for ids in model.ids(list(texts)):
        (window,) = windows_of(0, [ids])
        states.append(pool([window], model.states([window.ids]))[0, :DIMENSION])
    return np.hstack([STATES_SCALE * np.vstack(states), _signs(texts)])


def _signs(texts: Sequence[str]) -> Array:
    return np.array([[value for _, value in convention_signs(text)] for text in texts])


def fit(rows: Sequence[Row], of_users: Array, of_pages: Array) -> Array:
    """Return the weights: of users what is of the moment is no convention, of pages all is one."""
    moment = np.array([not row.label for row in rows])
    together = np.vstack([of_users[moment], of_pages])
    good = np.arange(len(together)) >= moment.sum()
    ridge = np.full(together.shape[1], RIDGE)
    ridge[DIMENSION] = 1e-3  # the bias
    return logistic_regression(
        together, good.astype(float), np.where(good, RULE_WEIGHT, 1.0), ridge
    )


def table(rows: Sequence[Row], of_users: Array, of_pages: Array) -> Iterator[str]:
    """Yield what would be kept at each bar, with writers left out in turn."""
    writers = sorted({row.writer for row in rows})
    fold = np.array([writers.index(row.writer) % FOLDS for row in rows])
    sections = sayings()
    own = {name: features(lines) for name, lines in sections.items()}
    logits = np.zeros(len(rows))
    of_sayings = {name: np.zeros(len(lines)) for name, lines in sections.items()}
    for left_out in range(FOLDS):
        is_own = fold == left_out
        rest = [row for row, its in zip(rows, is_own, strict=True) if not its]
        weights = fit(rest, of_users[~is_own], of_pages)
        logits[is_own] = of_users[is_own] @ weights
        for name, its in own.items():
            of_sayings[name] += its @ weights / FOLDS
    moment = np.array([row.is_random and row.is_moment for row in rows])
    open_rows = np.array([_is_open(row.text, row.judged) for row in rows])
    is_kept = np.array([row.is_kept for row in rows])
    left, kept = moment & open_rows & ~is_kept, moment & open_rows & is_kept
    open_ = {
        name: np.array([_is_open(line, judge_sentence(line)) for line in lines])
        for name, lines in sections.items()
    }
    yield f"{len(of_pages)} rules, {moment.sum()} sentences of the moment"
    yield "| bar | of the moment, not kept by rule | kept by rule | " + " | ".join(sections) + " |"
    for bar in BARS:
        counts = [f"{(of_sayings[name][open_[name]] >= bar).sum()}" for name in sections]
        shares = f"{(logits[left] >= bar).sum()} | {(logits[kept] >= bar).sum()}"
        yield f"| {bar} | {shares} | {' | '.join(counts)} |"


def _is_open(text: str, judged: Judgement) -> bool:
    return may_be_rule(text) and may_be_convention(judged)


def sayings() -> dict[str, list[str]]:
    """Return the sections of ``sayings.txt`` about conventions."""
    _, *sections = SAYINGS.read_text("utf-8").split("\n[")
    parts = (section.strip().partition("]\n") for section in sections)
    return {n: lines.splitlines() for n, _, lines in parts if n.startswith("conventions")}


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of conventions."""
    states, signs = STATES_SCALE * weights[:DIMENSION], weights[DIMENSION:]
    names = [name for name, _ in convention_signs("")]
    return {
        "convention": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "convention_signs": {n: round(float(s), 3) for n, s in zip(names, signs, strict=True)},
    }


if __name__ == "__main__":
    main()
