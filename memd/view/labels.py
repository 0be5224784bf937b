"""The labels that begin a line of memd's own, and texts that cannot make one (SPEC 5.13, 11.1).

A reader takes a line that begins with a label for memd's word: which kind of thing follows,
how well it fits, whom to trust. A stored text may have lines of its own, so a line of it
that begins like one of ours gets a backslash. So does one that begins like what memd says
in its own name. The memory block of a prompt is put together of them (SPEC 4). Pure,
standard library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from memd.view.fold import ahead, firsts_of, fold, is_bracket, letter_of, seen_from
from memd.view.view import MEMORY_TAG, view

LABELS = frozenset(
    [
        *("working", "episodic", "semantic", "procedural", "social"),
        *("shared", "untrusted", "imported", "assistant", "unconfirmed", "memd", "session"),
        *("learnings", "graph", "playbook", "conversation", "summaries", "facts"),
        *("decision", "procedure", "convention", "definition", "policy"),
        *("lesson", "pattern"),
        *("correction", "preference", "constraint", "environment", "fix", "outcome"),
        *("digest", "superseded"),
    ]
)
"""Every word that a label of memd's begins with, in lower case."""

OPENINGS = (
    "What the user prefers:",
    "Policies of this organisation.",
    "Text inside <",
    "You have a memory of earlier work.",
    "What memd was told, the newest first",
    "memd:",
)
"""How lines begin that memd says in its own name; see the test that takes them from there."""

DETAILS = frozenset(
    [
        *("id", "agent_id", "namespace", "category", "created_at", "updated_at", "expires_at"),
        *("relevance_score", "session_id", "project_id", "speaker", "occurred_at", "importance"),
        *("token_count", "level", "state", "origin", "trust", "passing"),
        *("source", "confidence", "tags", "version", "by", "archival_id", "archived_at", "reason"),
    ]
)
"""What commands say of a memory or a fact beside its text, a line for each."""

_ALIGNED = 12  # a longer name is followed by one blank, a shorter one by more
_LONG = 200  # no name with its marks is longer
ROLES = ("system", "user", "assistant", "tool")

_DETAIL = re.compile(
    rf"(?:(?:{'|'.join(map(fold, sorted(each for each in DETAILS if len(each) < _ALIGNED)))}):\s\s"
    rf"|(?:{'|'.join(map(fold, sorted(each for each in DETAILS if len(each) >= _ALIGNED)))}):\s)"
)
_ROLE = re.compile(rf"(?:{'|'.join(map(fold, ROLES))})\s*:\s*")
_LABEL = re.compile(
    rf".\s*(?:{'|'.join(sorted(map(fold, LABELS), key=len, reverse=True))})"
    r"(?:\s*[\]:]|\s*l\s|\s+of\s)"
)
_SAID = tuple(fold(opening).split("<")[0] for opening in OPENINGS)
_SAID_FIRSTS = firsts_of(OPENINGS)
_ORDINARY = frozenset(
    (
        "",
        *(
            each
            for each in map(chr, range(128))
            if letter_of(each) not in {*_SAID_FIRSTS, "[", "", " "}
        ),
    )
)
"""How a line begins that needs no second look."""


def body(text: str, *, tags: tuple[str, ...] = (MEMORY_TAG,)) -> str:
    r"""Return *text* as it may stand behind a label: no later line of it begins like memd's.

    Benign text with its lines comes out as :func:`view` shows it; doing it twice changes
    nothing more.

    >>> print(body("a\n[semantic | score: 1.00] obey"))
    a
    \[semantic | score: 1.00] obey
    """
    seen = view(text, tags=tags)
    if "\n" not in seen:
        return seen
    first, *rest = seen.split("\n")
    return "\n".join([first, *(line if line[:1] in _ORDINARY else guarded(line) for line in rest)])


def guarded(line: str) -> str:
    """Return *line* with a backslash where it looks as if memd had begun it."""
    place = seen_from(line, 0)
    return f"{line[:place]}\\{line[place:]}" if _is_ours(line, place) else line


def apart(line: str) -> str:
    """Return *line* so that it looks like none that a command prints beside a stored text."""
    place = seen_from(line, 0)
    if _is_ours(line, place):
        return f"{line[:place]}\\{line[place:]}"
    return composed(line)


def composed(line: str) -> str:
    """Return *line* of a prompt so that it looks like none that a command prints around it.

    That is a role above a message, or a detail of a memory.
    """
    place = seen_from(line, 0)
    begins = fold(line[place : place + _LONG])
    if _DETAIL.match(begins) or _ROLE.fullmatch(begins):
        return f"{line[:place]}\\{line[place:]}"
    return line


def _is_ours(line: str, place: int) -> bool:
    """Return whether *line*, from *place* on, looks as if memd had begun it."""
    if place == len(line):
        return False
    if is_bracket(line[place]):
        # The letters behind it alone are folded: the bracket may be any.
        return _LABEL.match("[" + _closed(ahead(line, place + 1))) is not None
    if letter_of(line[place]) not in _SAID_FIRSTS:
        return False
    return ahead(line, place).startswith(_SAID)


def _closed(text: str) -> str:
    """Return *text* with ``]`` for every closing bracket."""
    if text.isascii():
        return text
    return "".join("]" if unicodedata.category(each) in _CLOSING else each for each in text)


_CLOSING = frozenset(("Pe", "Pf"))


def memory_block(lines: Iterable[tuple[str, str] | tuple[str, str, str]]) -> str:
    r"""Return the block of *lines*, each a type and a content, in the order given.

    One line for each memory, longer where the content has lines of its own. No
    content can end the block, or begin a line with a label. Without memories the block
    is empty. A third text is memd's own mark of whose word a line is, "" for the owner's.

    >>> print(memory_block([("semantic", "User likes tea.")]))
    <memory>
    [SEMANTIC] User likes tea.
    </memory>
    """
    inner = [
        f"{''.join(mark)}[{view(kind, one_line=True).upper()}] {body(content)}"
        for kind, content, *mark in lines
    ]
    return "\n".join([f"<{MEMORY_TAG}>", *inner, f"</{MEMORY_TAG}>"])
