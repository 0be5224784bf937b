"""What readers wrote down of recorded sessions (``labels/README.md``), and which are held back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

LABELS = Path(__file__).with_name("labels")
SECOND = LABELS / "second"
PROJECTS = LABELS / "projects"
WORTH = frozenset({"decision", "correction", "preference", "constraint", "environment"})
NEVER_KEPT = frozenset({"request", "question", "acknowledgement", "noise"})
HELD = ("held", "held2")
SPLITS = ("fit", "fit2", "fit3", *HELD)
"""Looked at before anything was built, looked at later, and only ever scored."""


class Item(NamedTuple):
    """One thing worth knowing a week later; *keys* are groups of alternatives."""

    number: str
    kind: str
    importance: int
    lines: frozenset[int]
    says: str
    keys: tuple[tuple[str, ...], ...]
    asked: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's view of one session; *does* says by its line's number what the user does."""

    session: str
    items: tuple[Item, ...]
    does: dict[int, str]

    def never_kept(self) -> tuple[int, ...]:
        """Return the lines of the user that must not be kept and that no item needs."""
        needed = frozenset[int]().union(*(item.lines for item in self.items))
        return tuple(
            line for line, does in self.does.items() if does in NEVER_KEPT and line not in needed
        )


def split() -> dict[str, str]:
    """Return by session whether it is ``fit`` or ``held``."""
    by_part: dict[str, list[str]] = json.loads((LABELS / "split.json").read_text("utf-8"))
    return {session: name for name in SPLITS for session in by_part[name]}


def readings(which: str = "all", folder: Path = LABELS) -> dict[str, Reading]:
    """Return the readings in *folder* by session: of a split, or of ``all``."""
    there = split()
    paths = sorted(folder.glob("*.jsonl"))
    paths = [path for path in paths if which in {"all", there.get(path.stem)}]
    return {path.stem: reading(path.stem, path.read_text("utf-8").splitlines()) for path in paths}


def reading(session: str, lines: Iterable[str]) -> Reading:
    """Return what the JSON *lines* say of a session."""
    rows = [json.loads(line) for line in lines if line.strip()]
    items = tuple(_item(row) for row in rows if "item" in row)
    return Reading(session, items, {row["user"]: row["does"] for row in rows if "user" in row})


def session_lines(folder: Path, sessions: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines of the files of *sessions* below *folder*; SystemExit if one lacks."""
    paths = {path.stem: path for path in folder.rglob("*.md")}
    missing = [session for session in sessions if session not in paths]
    if missing:
        raise SystemExit(f"no session {missing[0]} below {folder}")
    return {session: paths[session].read_text("utf-8").splitlines() for session in sessions}


def _item(row: dict[str, Any]) -> Item:
    return Item(
        row["item"],
        row["kind"],
        row["importance"],
        frozenset(row["lines"]),
        row["says"],
        tuple(map(tuple, row["keys"])),
        row["asked"],
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """A session whose first requests, at *lines*, need items of earlier sessions."""

    session: str
    lines: tuple[int, ...]
    needs: tuple[str, ...]
    """Each as session#item."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What readers wrote down of one team: by session the reading and the part, and its pairs."""

    readings: dict[str, Reading]
    parts: dict[str, str]
    pairs: tuple[Pair, ...]

    def needs(self, pair: Pair) -> list[tuple[str, Item]]:
        """Return what *pair* needs, each with the part of the session that it is from."""
        needs = []
        for need in pair.needs:
            session, _, number = need.partition("#")
            items = {item.number: item for item in self.readings[session].items}
            needs.append((self.parts[session], items[number]))
        return needs


def labels() -> Labels:
    """Return what is labelled of the one team that memd is measured with."""
    rows = json.loads((LABELS / "pairs.json").read_text("utf-8"))
    pairs = (Pair(row["session"], tuple(row["lines"]), tuple(row["needs"])) for row in rows)
    return Labels(readings(), split(), tuple(pairs))


def project(name: str) -> Labels:
    """Return what is labelled of the public repository *name* (``projects``), which is one part."""
    lines = (PROJECTS / f"{name}.jsonl").read_text("utf-8").splitlines()
    head, *rows = map(json.loads, lines)
    sessions: dict[str, str] = head["sessions"]
    items: dict[str, list[Item]] = {session: [] for session in sessions.values()}
    pairs: list[Pair] = []
    for row in rows:
        session = sessions[row["session"]]
        if "item" in row:
            items[session].append(_item(row))
            continue
        needs = (need.split("#") for need in row["needs"])
        whole = tuple(f"{sessions[short]}#{number}" for short, number in needs)
        pairs.append(Pair(session, tuple(row["lines"]), whole))
    marked = {session: Reading(session, tuple(its), {}) for session, its in items.items()}
    return Labels(marked, dict.fromkeys(marked, name), tuple(pairs))
