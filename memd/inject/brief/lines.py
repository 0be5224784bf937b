"""Make the lines of a brief from memories and facts, and drop lines that repeat others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import shorten
from typing import NamedTuple

from memd.base.clock import from_us, to_us
from memd.domain.enums import Origin, Trust
from memd.domain.org.org import OrgFact
from memd.domain.sleep.consolidation import DIGEST_TAG, is_answer, user_part, without_outcome
from memd.domain.trust import mark as mark_of
from memd.guard.redaction import redact
from memd.inject.brief.rows import (
    OpenPoints,
    drop_continued,
    find_open_points,
    session_ends,
    state_rule,
)
from memd.inject.format import project_mark
from memd.inject.knowledge import FACT_LABELS
from memd.inject.knowledge import mark_of_assisted as mark_of_text
from memd.org.org import FactCandidates
from memd.store.session.briefs import RULE_KINDS, BriefMaterial, BriefRow
from memd.text.words import content_stems, sentences
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, one_line

ENVIRONMENT = "environment"
DIGEST_SESSIONS = 3
"""Later sessions without a digest, after which the last digest is no longer shown."""
NEW_FACTS_MAX = 3
ENTRY_CHARS, RULE_CHARS = 240, 160
"""Characters of a memory, or of a rule. Memories of kind ENVIRONMENT (commands) are not cut."""
RULE_WHOLE_CHARS = 200
"""A rule up to this length is not cut, because that would save little."""
ALONE_STEMS = 6
"""Stems of the user's answer from which it is understood without its question."""
SUPERSEDED_MAX, SUPERSEDED_CHARS = 3, 160
REPEATED_SHARE = 0.8
"""A line is a repetition if earlier lines contain this share of its words."""
DECIDED_KINDS = RULE_KINDS | {"decision", "correction"}
REQUEST_LABELS = ("Asked first:", "Asked last:", "Also said:", "Also asked:")
"""Labels of the lines of a digest that quote the user; the last one is that of old digests."""
_WORD = re.compile(r"\w[\w./-]+\w")  # also "docs/plan.md"
_POINTING = re.compile(r"\b(?:that|this|those|these|it|them|ones?|both)\b", re.IGNORECASE)


class BriefLine(NamedTuple):
    """One line of a brief: ``{mark}[{kind}{about}] {text}``."""

    id: str | None
    """The id of the memory or fact, None for a superseded memory."""
    kind: str
    text: str
    about: str = ""
    """The end of the label: date and project."""
    mark: str = ""
    is_cut: bool = False
    """Whether the memory has more text."""
    at_us: int = 0
    """The time of the memory, 0 if the line has none."""
    commands: frozenset[str] = frozenset()
    """The commands in a memory that only lists commands."""


def digest_lines(rows: Sequence[BriefRow], material: BriefMaterial) -> list[BriefLine]:
    """Return a line for this session's digest or, without one, for the last session's; or [].

    A session has a digest if its window was emptied before. The last session's digest is left out
    if more than DIGEST_SESSIONS sessions followed: it no longer tells how the work ended. The line
    says if sessions without a digest followed.
    """
    digests = [row for row in rows if row.kind == DIGEST_TAG]
    if not digests:
        return []
    of_this_session = [row for row in digests if row.session_key == material.own_key]
    digest = of_this_session[0] if of_this_session else max(digests, key=lambda row: row.at_us)
    ends = {} if of_this_session else session_ends(rows)
    later_ends = [
        end_us
        for key, end_us in ends.items()
        if key != digest.session_key and end_us > digest.at_us
    ]
    if len(later_ends) > DIGEST_SESSIONS:
        return []
    session = "this session" if of_this_session else "session"
    later = ""
    if later_ends:
        later = f", before one of {from_us(max(later_ends)):%Y-%m-%d} without a digest"
    about = f" of {session}, {from_us(digest.at_us):%Y-%m-%d}{_project(digest)}{later}"
    return [_memory_line(digest)._replace(about=about)]


def rule_line(row: BriefRow) -> BriefLine:
    """Return the line of a rule, without the outcome of the work on it.

    An answer of the user loses its question if it can be understood without it. A long text is
    reduced to its rules.
    """
    line = dated_line(row)
    text = without_outcome(line.text)
    if is_answer(text) and _is_self_contained(answer := user_part(text)):
        text = answer
    if row.is_as_written and text != line.text and not is_answer(text):
        line = line._replace(mark="")  # only the user's words remain
    if len(text) > RULE_CHARS:
        text = state_rule(text)
    line = line._replace(text=text, is_cut=text != line.text)
    return line if len(text) <= RULE_WHOLE_CHARS else cut_line(line, RULE_CHARS)


def _is_self_contained(answer: str) -> bool:
    """Return whether an answer has ALONE_STEMS stems in sentences without words like "that"."""
    plain = [sentence for sentence in sentences(answer) if not _POINTING.search(sentence)]
    return len(content_stems(" ".join(plain))) >= ALONE_STEMS


def dated_line(row: BriefRow) -> BriefLine:
    """Return the line of a memory with its day: of contradicting ones a reader sees the newer."""
    return _memory_line(row)._replace(about=f" | {from_us(row.at_us):%Y-%m-%d}{_project(row)}")


def _memory_line(row: BriefRow) -> BriefLine:
    mark = mark_of(Origin(row.origin), Trust(row.trust))
    text, kind = redact(row.content), row.kind or row.category
    commands = text.partition(": ")[2].split("; ") if row.purpose else ()
    return BriefLine(
        row.memory_id, kind, text, mark=mark, at_us=row.at_us, commands=frozenset(commands)
    )


def open_lines(rows: Sequence[BriefRow], shown: Sequence[BriefLine]) -> list[BriefLine]:
    """Return the open points of earlier sessions; *shown*: the lines of the digest in the brief."""
    ids = {line.id for line in shown}
    digests = [row for row in rows if row.kind == DIGEST_TAG and row.memory_id not in ids]
    return [
        BriefLine(
            point.digest.memory_id,
            "open",
            redact("; ".join(point.texts)),
            about=f" since {from_us(point.digest.at_us):%Y-%m-%d}{_project(point.digest)}",
            mark=_mark_of_point(point),
            is_cut=True,
        )
        for point in find_open_points(digests, rows)
    ]


def _mark_of_point(point: OpenPoints) -> str:
    """Return the mark of the digest, or "" for the user's words in a digest as it was written.

    A client may have rewritten the digest, and then those may be its words.
    """
    if point.by_user and point.digest.is_as_written:
        return ""
    return mark_of(Origin(point.digest.origin), Trust(point.digest.trust))


def facts_since(facts: FactCandidates, since_us: int) -> list[OrgFact]:
    """Return the newest facts that were created at or after *since_us*, at most NEW_FACTS_MAX."""
    return [fact for fact in facts.newest if to_us(fact.created_at) >= since_us][:NEW_FACTS_MAX]


def fact_line(fact: OrgFact) -> BriefLine:
    """Return the line of an organisational fact, with a mark unless a human wrote it."""
    text = redact(fact.content)
    mark = "" if fact.author.is_human else mark_of_text(text)
    label, at_us = FACT_LABELS[fact.category], to_us(fact.created_at)
    return BriefLine(fact.id, label, text, mark=mark, at_us=at_us)


def superseded_lines(material: BriefMaterial) -> list[BriefLine]:
    """Return the lines of superseded memories, shortened, at most SUPERSEDED_MAX."""
    superseded = drop_continued(material.superseded, material.rows)
    texts = [one_line(redact(text)) for text in superseded[:SUPERSEDED_MAX]]
    short = [shorten(text, SUPERSEDED_CHARS, placeholder=" …") for text in texts]
    return [BriefLine(None, "superseded", text) for text in short]


def _project(row: BriefRow) -> str:
    """Return the part of a label that names the memory's project, "" for that of the brief."""
    return "" if row.project_id is None else project_mark(row.project_id)


def cut_line(line: BriefLine, chars_max: int = ENTRY_CHARS) -> BriefLine:
    """Return *line* with a text of at most *chars_max* characters, cut between words."""
    if line.kind == ENVIRONMENT or len(line.text) <= chars_max:
        return line
    beginning = line.text[:chars_max].rsplit(maxsplit=1)[0]
    return line._replace(text=f"{beginning} …", is_cut=True)


def render_line(line: BriefLine) -> str:
    """Return the content of the line's fence; a text that begins like a label is escaped."""
    return f"{line.mark}[{line.kind}{line.about}] {body(line.text, tags=(ENTRY_TAG,))}"


def newest_first(lines: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* with the lines of each kind sorted, newest first, among their positions."""
    by_kind: dict[str, list[BriefLine]] = {}
    for line in sorted(lines, key=lambda line: line.at_us):
        by_kind.setdefault(line.kind, []).append(line)
    return [by_kind[line.kind].pop() for line in lines]


def drop_repeats(lines: Sequence[BriefLine], before: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* without those that repeat *before* or earlier lines.

    A repetition has REPEATED_SHARE of its words there. For a rule, decision or correction, words of
    older lines and of requests do not count: an older text with the same words may say the
    opposite, and a request is cut. A line of commands only repeats lines with the same commands:
    "pnpm exec playwright test" has all words of "pnpm test".
    """
    latest_us: dict[str, int] = {}  # the latest time of a line with each word
    for line in before:
        for words, at_us in _words_with_time(line):
            _record(latest_us, words, at_us)
    known_commands: set[str] = set()
    new_lines: list[BriefLine] = []
    for line in lines:
        words = _words(line.text)
        since_us = line.at_us if line.kind in DECIDED_KINDS else 0
        known_count = sum(latest_us.get(word, -1) >= since_us for word in words)
        is_new = known_count < REPEATED_SHARE * len(words)
        if line.commands:
            is_new = not line.commands <= known_commands
        if is_new:
            new_lines.append(line)
            known_commands |= line.commands
            _record(latest_us, words, line.at_us)
    return new_lines


def _record(latest_us: dict[str, int], words: Iterable[str], at_us: int) -> None:
    for word in words:
        latest_us[word] = max(at_us, latest_us.get(word, 0))


def _words_with_time(line: BriefLine) -> Iterator[tuple[frozenset[str], int]]:
    """Yield the words of *line* with its time, which is 0 for the requests in a digest."""
    if line.kind != DIGEST_TAG:
        yield _words(line.text), line.at_us
        return
    for field_line in line.text.splitlines():
        is_request = field_line.startswith(REQUEST_LABELS)
        yield _words(field_line), 0 if is_request else line.at_us


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
