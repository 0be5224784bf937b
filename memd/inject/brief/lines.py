"""The lines of a brief: what each tells of a memory under which label, and which repeat. Pure."""

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
DIGEST_SESSIONS = 3  # without a digest of their own, since the last one that is told
NEW_FACTS_MAX = 3
ENTRY_CHARS, RULE_CHARS = 240, 160  # of a memory in a brief; commands are shown whole
RULE_WHOLE_CHARS = 200  # of a rule that is not cut, as little would be saved
ALONE_STEMS = 6  # of the user's words that need nothing beside them
SUPERSEDED_MAX, SUPERSEDED_CHARS = 3, 160
REPEATED_SHARE = 0.8  # of a line's words: a line that earlier ones cover so far is left out
DECIDED_KINDS = RULE_KINDS | {"decision", "correction"}
REQUEST_LABELS = ("Asked first:", "Asked last:", "Also asked:")
_WORD = re.compile(r"\w[\w./-]+\w")
_POINTS = re.compile(r"\b(?:that|this|those|these|it|them|ones?|both)\b", re.IGNORECASE)


class BriefLine(NamedTuple):
    """One line of a brief; *id* is None for a superseded memory.

    In the label, *about* follows the kind and *mark* precedes it. *is_cut* says that the
    memory has more text. *at_us* is its time, 0 where none is told. *commands* are those of a
    memory that tells nothing else.
    """

    id: str | None
    kind: str
    text: str
    about: str = ""
    mark: str = ""
    is_cut: bool = False
    at_us: int = 0
    commands: frozenset[str] = frozenset()


def digest_lines(rows: Sequence[BriefRow], material: BriefMaterial) -> list[BriefLine]:
    """Return this session's digest, which it has if its window was emptied, else the last one.

    None of a session after which several others told something else: it is not how work ended.
    Where one did, its day is told.
    """
    digests = [row for row in rows if row.kind == DIGEST_TAG]
    if not digests:
        return []
    own = [row for row in digests if row.session_key == material.own_key]
    last = own[0] if own else max(digests, key=lambda row: row.at_us)
    ends = [end_us for end_us in session_ends(rows).values() if end_us > last.at_us and not own]
    if len(ends) > DIGEST_SESSIONS:
        return []
    session = "this session" if own else "session"
    later = f", before one of {from_us(max(ends)):%Y-%m-%d} without a digest" if ends else ""
    about = f" of {session}, {from_us(last.at_us):%Y-%m-%d}{_place(last)}{later}"
    return [_memory_line(last)._replace(about=about)]


def rule_line(row: BriefRow) -> BriefLine:
    """Return the line of a rule: without what came of it on its day, a long one by its rule.

    Where the user's words stand alone, without what they answered.
    """
    line = dated_line(row)
    text = without_outcome(line.text)
    if is_answer(text) and _stands_alone(own := user_part(text)):
        text = own
    if row.is_as_written and text != line.text and not is_answer(text):
        line = line._replace(mark="")  # the user's words alone
    if len(text) > RULE_CHARS:
        text = state_rule(text)
    line = line._replace(text=text, is_cut=text != line.text)
    return line if len(text) <= RULE_WHOLE_CHARS else cut_line(line, RULE_CHARS)


def _stands_alone(own: str) -> bool:
    """Return whether the user's words say what they are about, and do not only point at it."""
    plain = [each for each in sentences(own) if not _POINTS.search(each)]
    return len(content_stems(" ".join(plain))) >= ALONE_STEMS


def dated_line(row: BriefRow) -> BriefLine:
    """Return the line of a memory with its day: of two that differ a reader sees the newer one."""
    return _memory_line(row)._replace(about=f" | {from_us(row.at_us):%Y-%m-%d}{_place(row)}")


def _memory_line(row: BriefRow) -> BriefLine:
    mark = mark_of(Origin(row.origin), Trust(row.trust))
    text, kind = redact(row.content), row.kind or row.category
    commands = text.partition(": ")[2].split("; ") if row.purpose else ()
    return BriefLine(
        row.memory_id, kind, text, mark=mark, at_us=row.at_us, commands=frozenset(commands)
    )


def open_lines(rows: Sequence[BriefRow], shown: Sequence[BriefLine]) -> list[BriefLine]:
    """Return what earlier sessions than that of the digest *shown* left open."""
    ids = {line.id for line in shown}
    digests = [row for row in rows if row.kind == DIGEST_TAG and row.memory_id not in ids]
    return [
        BriefLine(
            point.digest.memory_id,
            "open",
            redact("; ".join(point.texts)),
            about=f" since {from_us(point.digest.at_us):%Y-%m-%d}{_place(point.digest)}",
            mark=_mark_of_point(point),
            is_cut=True,
        )
        for point in find_open_points(digests, rows)
    ]


def _mark_of_point(point: OpenPoints) -> str:
    """Return the mark of who said it: none for the user, unless the digest was rewritten since.

    A client may have rewritten it; then it has the digest's.
    """
    if point.by_user and point.digest.is_as_written:
        return ""
    return mark_of(Origin(point.digest.origin), Trust(point.digest.trust))


def facts_since(facts: FactCandidates, since_us: int) -> list[OrgFact]:
    return [fact for fact in facts.others if to_us(fact.created_at) >= since_us][:NEW_FACTS_MAX]


def fact_line(fact: OrgFact) -> BriefLine:
    text = redact(fact.content)
    doubt = "" if fact.author.is_human else mark_of_text(text)
    label, at_us = FACT_LABELS[fact.category], to_us(fact.created_at)
    return BriefLine(fact.id, label, text, mark=doubt, at_us=at_us)


def superseded_lines(material: BriefMaterial) -> list[BriefLine]:
    superseded = drop_continued(material.superseded, material.rows)
    texts = [one_line(redact(text)) for text in superseded[:SUPERSEDED_MAX]]
    short = [shorten(text, SUPERSEDED_CHARS, placeholder=" …") for text in texts]
    return [BriefLine(None, "superseded", text) for text in short]


def _place(row: BriefRow) -> str:
    """Return the mark of the project that a memory is of, "" for that of the brief."""
    return "" if row.project_id is None else project_mark(row.project_id)


def cut_line(line: BriefLine, chars_max: int = ENTRY_CHARS) -> BriefLine:
    """Return *line* with the beginning of a long text, so that a brief holds more memories."""
    if line.kind == ENVIRONMENT or len(line.text) <= chars_max:
        return line
    beginning = line.text[:chars_max].rsplit(maxsplit=1)[0]
    return line._replace(text=f"{beginning} …", is_cut=True)


def render_line(line: BriefLine) -> str:
    """Return the content of the line's fence; no line of the text begins like a label."""
    return f"{line.mark}[{line.kind}{line.about}] {body(line.text, tags=(ENTRY_TAG,))}"


def newest_first(lines: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* with those of each kind, at the places that they have, the newest first."""
    by_kind: dict[str, list[BriefLine]] = {}
    for line in sorted(lines, key=lambda line: line.at_us):
        by_kind.setdefault(line.kind, []).append(line)
    return [by_kind[line.kind].pop() for line in lines]


def drop_repeats(lines: Sequence[BriefLine], before: Sequence[BriefLine]) -> list[BriefLine]:
    """Return *lines* without those whose words are covered by *before* and by better lines.

    A rule, decision or correction is only covered by what is not older and no request: an older
    text in the same words may say the opposite, and a request is cut. Commands are only covered by
    the same commands: "pnpm exec playwright test" has all words of "pnpm test".
    """
    told_us: dict[str, int] = {}
    for part in map(_split_requests, before):
        for words, at_us in part:
            _note(told_us, words, at_us)
    told_commands: set[str] = set()
    new_lines: list[BriefLine] = []
    for line in lines:
        words = _words(line.text)
        since_us = line.at_us if line.kind in DECIDED_KINDS else 0
        known_count = sum(told_us.get(word, -1) >= since_us for word in words)
        is_new = known_count < REPEATED_SHARE * len(words)
        if line.commands:
            is_new = not line.commands <= told_commands
        if is_new:
            new_lines.append(line)
            told_commands |= line.commands
            _note(told_us, words, line.at_us)
    return new_lines


def _note(told_us: dict[str, int], words: Iterable[str], at_us: int) -> None:
    """Note that a line of *at_us* has *words*."""
    for word in words:
        told_us[word] = max(at_us, told_us.get(word, 0))


def _split_requests(line: BriefLine) -> Iterator[tuple[frozenset[str], int]]:
    """Yield the words of *line* and its time, which is 0 for the requests of a digest."""
    if line.kind != DIGEST_TAG:
        yield _words(line.text), line.at_us
        return
    for field_line in line.text.splitlines():
        is_request = field_line.startswith(REQUEST_LABELS)
        yield _words(field_line), 0 if is_request else line.at_us


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
