"""Recorded coding sessions of seven other teams, each a store of its own, and questions to them.

Nothing of them is in the repository: each lies in a folder of its repository's name below the one
that is named (``SOURCES`` says at which commit) and is read from there, its recorded sessions
alone. Each team's first sessions
are stored part by part and asked as those of ``bench.coding_questions`` are, by lines that need an
earlier one; at the end come the questions of ``labels/others/questions.jsonl``, written by hand in
other words before anything was measured. Pure: files in, passages and questions out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import coding_questions, unanswerable
from bench.coding_questions import Asked, Passage
from bench.reader_labels import LABELS, Item, Reading, session_lines
from bench.transcripts import exported

QUESTIONS = LABELS / "others" / "questions.jsonl"
ASKED_MAX = 60  # of a team, by the rule
FOREIGN = 12  # of each kind
HISTORY = ".specstory/history"  # a checkout has other Markdown too
SEED = 7

SOURCES = {
    "SchaerbeekMunicipality": "JobiJoba/SchaerbeekMunicipality@0a9678d5",
    "StationpediaAscendedWorkspace": "FlorpyDorpinator/StationpediaAscendedWorkspace@599966a0",
    "league_analyzer": "AmbidextrousCoatie/league_analyzer@aad233cc",
    "polychrome.p5": "MichaelPaulukonis/polychrome.p5@f809fac0",
    "focuslab": "learnwithcc/focuslab@1a129844",
    "yposfgold-community-platform": "maloneype/yposfgold-community-platform@743ef69c",
    "cozy-checkout": "michalhorcic/cozy-checkout@607fa4c0",
}
SESSIONS = {
    "SchaerbeekMunicipality": 42,
    "StationpediaAscendedWorkspace": 47,
    "league_analyzer": 3,
    "polychrome.p5": 35,
    "focuslab": 11,
    "yposfgold-community-platform": 17,
    "cozy-checkout": 44,
}
"""How many sessions of each, in the order of their names: some 1,200 passages, which a reader of
their format may cut otherwise."""


@dataclass(frozen=True, slots=True)
class Team:
    """One team's parts, each with what is asked before it is stored, and what is asked at the end.

    *foreign* is what nothing of it answers, each with its kind (``bench.bed_samples``).
    """

    name: str
    parts: tuple[tuple[tuple[Passage, ...], tuple[Asked, ...]], ...]
    labelled: tuple[Asked, ...]
    foreign: tuple[tuple[str, Asked], ...]


def teams(folder: Path) -> list[Team]:
    """Return the teams whose checkouts are below *folder*; SystemExit if one lacks."""
    if missing := [name for name in SOURCES if not (folder / name / HISTORY).is_dir()]:
        raise SystemExit(f"no checkout of {SOURCES[missing[0]]} in {folder / missing[0]}")
    parts = {name: parts_of(folder / name) for name in SOURCES}
    names = list(SOURCES)
    return [
        _team(name, folder / name, parts[name], _lines(parts[names[at - 1]]))
        for at, name in enumerate(names)
    ]


def parts_of(folder: Path) -> list[list[Passage]]:
    """Return the parts of a team's first sessions."""
    sessions = exported(folder / HISTORY, sidechains=False)
    taken = sorted(sessions)[: SESSIONS[folder.name]]
    return coding_questions.in_parts({name: sessions[name] for name in taken})


def _team(
    name: str, folder: Path, parts: Sequence[Sequence[Passage]], strange: Sequence[str]
) -> Team:
    """Return what a team stores and asks; *strange* are lines of another team."""
    chance = random.Random(SEED)
    replayed = [(tuple(part), list(asked)) for part, asked in coding_questions.replayed(parts)]
    every = [question for _, asked in replayed for question in asked]
    chosen = set(chance.sample(range(len(every)), min(ASKED_MAX, len(every))))
    kept = {id(every[at]) for at in chosen}
    by_text: dict[str, Passage] = {}
    for passage in (p for part in parts for p in part if coding_questions.stored(p)):
        by_text.setdefault(passage.text, passage)
    stored = list(by_text.values())
    return Team(
        name,
        tuple((part, tuple(q for q in asked if id(q) in kept)) for part, asked in replayed),
        tuple(_labelled(name, folder, stored)),
        tuple(_foreign(stored, every, strange, chance)),
    )


def _lines(parts: Sequence[Sequence[Passage]]) -> list[str]:
    """Return sentences of a team that would do as questions."""
    low, high = coding_questions.QUESTION_WORDS
    sentences = [
        line for part in parts for p in part for line in coding_questions.sentences(p.text)[:2]
    ]
    return sorted(
        {t for t in sentences if low <= len(t.split()) <= high and coding_questions.is_prose(t)}
    )


def _labelled(name: str, folder: Path, stored: Sequence[Passage]) -> Iterator[Asked]:
    """Yield the questions written by hand, but for those that too many passages would answer."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    for row in rows:
        if row["repo"].partition("/")[2] != name:
            continue
        lines = session_lines(folder / HISTORY, [row["session"]])[row["session"]]
        keys = tuple(map(tuple, row["keys"]))
        item = Item("", "", 0, frozenset(row["lines"]), "", keys, row["asked"])
        yield from coding_questions.labelled(Reading(row["session"], (item,), {}), lines, stored)


def _foreign(
    stored: Sequence[Passage], asked: Sequence[Asked], strange: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, Asked]]:
    """Yield what the team cannot answer, as ``bench.bed_samples`` has it for the first team."""
    ours = sorted({t for p in stored for t in coding_questions.named(p.text) if " " not in t})
    theirs = sorted({t for line in strange for t in coding_questions.named(line) if " " not in t})
    kept = [question.text for question in asked if question.name == "thing kept"]
    lines = {
        "A": list(strange),
        "B": [
            coding_questions.swapped(t, ours, chance) for t in strange if coding_questions.named(t)
        ],
        "U": [coding_questions.swapped(text, theirs, chance) for text in kept],
        "O": list(unanswerable.OTHER_DOMAINS),
    }
    for kind, texts in lines.items():
        for text in chance.sample(texts, min(FOREIGN, len(texts))):
            yield kind, Asked(text, "", "", 0, ())
