"""Extract statements about things from a text by rule, deterministically.

Precision comes first: a wrong statement misleads, while a text without one is still found by its
words. So nothing is extracted from a sentence that asks, doubts, reports or has no clear subject.
A statement is a relation of ``verbs.py`` between two names (``entity_names.py``), with the times of
``time_mentions.py``. It may be negated, and changes and exceptions are statements, too.

Explicit triples are arrows, ``Owner: Ann`` lines and wiki links. ``Billing -> depends_on ->
Postgres`` and ``Billing | owned by | Ann`` are one statement each. The subject of an ``Owner:``
line is the heading or the subject line (``Service: billing``) above it. Two wiki links in one
line, or a link under a heading, make ``links_to``.

A change of the rules that changes the statements of a text must increase
``domain.org.graph.STATEMENTS_VERSION``. The patterns take 10 ms to compile, so this module is
imported when the first text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from memd.base.limits import STATEMENTS_CHARS_MAX
from memd.domain.org.graph import ExtractedStatement, fold_name
from memd.extract.clauses import ClauseStatement, TextContext, parse_clause
from memd.extract.entity_names import CHARS_MAX, name, unwrap
from memd.extract.time_mentions import TimeMention, find_times
from memd.extract.verbs import FIELDS, FORMS, VERB_PHRASE, parse_relation
from memd.text.words import is_inside

STATEMENTS_MAX = 200
_SENTENCE_CHARS_MAX = 400
_NAME_CHARS = 16  # behind a full stop, which decide whether it is that of an abbreviation
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+(?=[\s)\"”*]|$)|;(?=\s)|$)", re.MULTILINE)
_DOUBT = re.compile(
    r"\?|\b(?:if|unless|whether|maybe|perhaps|possibly|probably|might|could|would|wish(?:es)?|wonder"
    r"|think|thinks|thought|guess|hope|hopes|suppose|supposed|seems?|imagine|pretend|kidding|heard"
    r"|says?|said|told|asked|asks|claims?|claimed|suggest(?:s|ed)?|propos(?:e|es|ed|al)|considering"
    r"|consider|considered|want|wants|wanted|likely|apparently|rumou?rs?|for example|joke)\b",
    re.IGNORECASE,
)
# What may precede a clause's subject: a bullet, "Note:", "we decided that".
_LEAD = re.compile(
    r"\s*(?:[-*>+]\s+|\d{1,3}[.)]\s+)?(?:(?:note|nb|remember|reminder|fyi|btw|by the way|policy"
    r"|rule|decision|decided|convention|update|adr[ -]?\d*|also|so|and|ok|okay|yes|well|hey"
    r"|actually|currently|now|today|please|then|but|we (?:have )?(?:decided|agreed)(?: that)?"
    r"|in short|as a rule)(?:\s*[:,]\s*|\s+(?=[\w`\"“\[]))){0,3}",
    re.IGNORECASE,
)
_NEXT = r"(?:now|afterwards?|thereafter|later|after that|(?:from|since) then(?: on)?)"
# Where a clause ends, and another says something of its own: "; ", "and then", ", now", ", but",
# and after a blanked time, where a name with a time of its own or with "afterwards" follows.
_OWN_BREAK = (
    rf"\s*;\s*|,?\s+(?:and\s+|\()?then,?\s+|(?:,\s+(?:and\s+)?|\s+(?:and\s+|\()){_NEXT},?\s+"
    r"|,?\s+but\s+(?!not\b)"
    r"|(?P<time>(?<=\s\s)(?:,|(?:,\s+)?and\b)\s"
    rf"(?=\s\s|[^,;]*(?:\s\s\s|\s{_NEXT}\s*)(?:[,;]|$)))"
)
_PART = re.compile(_OWN_BREAK)
# A clause also ends at a dash, ", which" or "except".
_BREAK = re.compile(
    _OWN_BREAK + r"|\s*[\u2014\u2013]\s*|,?\s+(?=except(?:ion)?\b)|,\s+(?:which|who)\s+"
)
_SUCCESSION = re.compile(rf"\b(?:then|{_NEXT})\b", re.IGNORECASE)
_AFTERWARDS = re.compile(rf"[\s,]+(?:then|{_NEXT})$")
# Whether "Ann owns Billing until March, then Bob" names an owner or a thing is not certain.
_OF_PEOPLE = frozenset(("owns", "leads", "works_on", "member_of"))
_AND = re.compile(r",?\s+and\s+|,\s+(?=(?:we|do|don't|never|use|not\s+use)\s)", re.IGNORECASE)


def extract_statements(
    text: str, now_us: int | None = None, *, speaker: str | None = None
) -> tuple[ExtractedStatement, ...]:
    """Return the statements of *text*, in order, each once.

    *now_us* is when it was said: relative times count from it, and a change without a date
    happened then. *speaker* is the meaning of "I".

    >>> [(s.subject, s.relation, s.object) for s in extract_statements("We use Litestar.")]
    [('the team', 'uses', 'Litestar')]
    """
    text = _FENCE.sub(lambda match: _blank(match.group()), text[:STATEMENTS_CHARS_MAX])
    explicit = list(extract_triples(text))
    explicit_spans = {(statement.start, statement.end) for statement in explicit}
    prose = (
        statement
        for statement in _extract_prose(text, now_us, speaker)
        if _is_outside(statement, explicit_spans)
    )
    statements_by: dict[object, ExtractedStatement] = {}
    for statement in sorted(chain(explicit, prose), key=attrgetter("start", "end")):
        if _is_valid(statement):
            statements_by.setdefault(_identity(statement), statement)
    return tuple(statements_by.values())[:STATEMENTS_MAX]


def covers(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether each part of *text* overlaps one of *spans*, the spans of its statements.

    A part is a sentence, or what follows "then" or "but" in one. If all are covered, the text is
    outdated when its statements are. If not, it also says something that no statement can
    contradict.
    """
    spans = list(spans)
    return all(
        any(start < span_end and span_start < end for span_start, span_end in spans)
        for start, end in _parts(text)
        if any(letter.isalnum() for letter in text[start:end])
    )


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the parts of *text* (:func:`covers`)."""
    for start, end in _sentences(text):
        sentence = text[start : min(end, start + _SENTENCE_CHARS_MAX)]
        for begin, close in _split_clauses(_blank_times(sentence, find_times(sentence)), _PART):
            yield start + begin, start + close


def _is_valid(statement: ExtractedStatement) -> bool:
    """Return whether both names are neither empty nor too long, and differ."""
    names = (statement.subject, statement.object)
    return all(fold_name(part) and len(part) <= CHARS_MAX for part in names) and fold_name(
        statement.subject
    ) != fold_name(statement.object)


def _identity(statement: ExtractedStatement) -> object:
    """Return a key that is equal for statements that differ only in spelling or position."""
    return (
        fold_name(statement.subject),
        statement.relation,
        fold_name(statement.object),
        statement.negated,
        fold_name(statement.qualifier or ""),
        statement.valid_from_us,
        statement.valid_to_us,
    )


def _is_outside(statement: ExtractedStatement, spans: set[tuple[int, int]]) -> bool:
    return not any(start <= statement.start < end for start, end in spans)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each sentence, without leading white space."""
    start = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        after = text[end : end + _NAME_CHARS].split("\n", 1)[0].lstrip()
        if after and is_inside(match.group(), after):
            continue
        while start < end and text[start].isspace():
            start += 1
        if start < end:
            yield start, end
        start = end


class _Clause(NamedTuple):
    """A clause of a sentence, without its times and a lead such as "Note:"."""

    text: str
    begin: int
    end: int
    times: tuple[TimeMention, ...]
    follows: bool
    """Whether it says what came next: "then", "now", "afterwards"."""


class _Earlier(NamedTuple):
    """What a clause without a verb takes over: the words up to the verb, and when that ended."""

    words: str
    until_us: int | None


def _extract_prose(
    text: str, now_us: int | None, speaker: str | None
) -> Iterator[ExtractedStatement]:
    context = TextContext(speaker=speaker, now_us=now_us)
    for start, end in _sentences(text):
        sentence = text[start:end]
        if end - start > _SENTENCE_CHARS_MAX or _DOUBT.search(sentence):
            continue
        context.subject = context.last_used = context.used_until_us = None
        earlier: _Earlier | None = None
        for clause in _clauses(sentence, now_us):
            statements = list(parse_clause(clause.text, clause.times, context))
            if statements:
                earlier = _earlier(clause, statements[-1])
            elif earlier is not None:
                statements = list(_parse_elliptical(clause, earlier, context))
                until_us = statements[-1].to_us if statements else None
                earlier = earlier._replace(until_us=until_us)
            for statement in statements:
                yield _statement(statement, start + clause.begin, start + clause.end)


def _clauses(sentence: str, now_us: int | None) -> Iterator[_Clause]:
    times = find_times(sentence, now_us)
    bare = _blank_times(sentence.rstrip(".!; "), times)
    spans = list(_split_clauses(bare))
    joint = 0
    for number, (begin, close) in enumerate(spans, 1):
        next_begin = spans[number][0] if number < len(spans) else len(sentence)
        clause_times = tuple(time for time in times if begin <= time.start < next_begin)
        lead = _LEAD.match(bare[begin:close])
        first = begin + (lead.end() if lead else 0)
        text = bare[first:close].strip(" ,")
        after = _AFTERWARDS.search(text)
        follows = after is not None or _SUCCESSION.search(bare[joint:first]) is not None
        stop = max([close, begin + 1, *(time.end for time in clause_times)])
        yield _Clause(text, begin, stop, clause_times, follows)
        joint = close


def _earlier(clause: _Clause, statement: ClauseStatement) -> _Earlier | None:
    """Return what a later clause may take over: "We used", of "We used Flask until March"."""
    match = VERB_PHRASE.search(clause.text)
    verb = FORMS[" ".join(match["verb"].casefold().split())] if match else None
    if match is None or verb is None or statement.negated or verb.kind not in {"state", "is"}:
        return None
    if verb.relation in _OF_PEOPLE and not verb.inverted:
        return None
    return _Earlier(clause.text[: match.end()], statement.to_us)


def _parse_elliptical(
    clause: _Clause, earlier: _Earlier, context: TextContext
) -> Iterator[ClauseStatement]:
    """Parse a clause that only names what came next: "until March, then *Litestar*"."""
    times = clause.times
    if not any(time.from_us is not None for time in times):
        if not clause.follows or earlier.until_us is None:
            return
        times = (TimeMention(0, 0, earlier.until_us, None), *times)
    name_only = _AFTERWARDS.sub("", clause.text)
    if VERB_PHRASE.search(name_only) is None:
        yield from parse_clause(f"{earlier.words} {name_only}", times, context)


def _statement(clause_statement: ClauseStatement, start: int, end: int) -> ExtractedStatement:
    return ExtractedStatement(
        clause_statement.subject,
        clause_statement.relation,
        clause_statement.object,
        start,
        end,
        clause_statement.negated,
        clause_statement.qualifier,
        clause_statement.from_us,
        clause_statement.to_us,
    )


def _blank_times(sentence: str, times: tuple[TimeMention, ...]) -> str:
    """Replace each time in *sentence* by spaces, so that offsets stay the same."""
    for start, end, *_ in times:
        sentence = sentence[:start] + " " * (end - start) + sentence[end:]
    return sentence


def _split_clauses(sentence: str, breaks: re.Pattern[str] = _BREAK) -> Iterator[tuple[int, int]]:
    """Yield the spans of a sentence's clauses, split at *breaks* and new subjects."""
    begin = 0
    for match in breaks.finditer(sentence):
        if match["time"] and not VERB_PHRASE.search(sentence, 0, match.start()):
            continue
        if match.start() > begin:
            yield from _split_at_and(sentence, begin, match.start())
        begin = match.end()
    yield from _split_at_and(sentence, begin, len(sentence))


def _split_at_and(sentence: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Split at each "and" that has a verb on both sides, and after it a name or no subject."""
    for match in _AND.finditer(sentence, begin, end):
        right = VERB_PHRASE.search(sentence, match.end(), end)
        if right is None or not VERB_PHRASE.search(sentence, begin, match.start()):
            continue
        subject = sentence[match.end() : right.start()].strip()
        if not subject or name(subject) is not None:
            yield begin, match.start()
            begin = match.end()
    if begin < end:
        yield begin, end


def _blank(block: str) -> str:
    """Return spaces in place of *block*, with its line breaks."""
    return "".join("\n" if letter == "\n" else " " for letter in block)


_LINE = re.compile(r"[^\n]+")
_ARROW = re.compile(r"\s*(?:--?>|=>|\u2192|--)\s*")
_PIPE = re.compile(r"\s*\|\s*")
_PARTS = 3  # subject, relation, object
_LINE_CHARS_MIN = 3  # the shortest heading is "# a"
_LINE_CHARS_MAX = 400
_SIGN = re.compile(
    r"^\s*#{1,6}\s|:(?:\*\*)?\s+\S|\[\[|\|.*\||(?:-->?|->|=>|\u2192).*(?:--|->|=>|\u2192)"
)
"""Matches in each line that has a triple or names a subject; other lines are skipped early."""
_HEADING = re.compile(r"#{1,6}\s+(?P<name>[^#\n]{1,80}?)\s*#*")
_FIELD = re.compile(
    r"\s*(?:[-*]\s+)?(?:\*\*)?(?P<key>[A-Za-z][a-z_ -]{2,20}?)(?:\*\*)?:(?:\*\*)?\s+"
    r"(?P<value>\S.{0,200})"
)
# Keys of lines that name the subject of the following lines: "Service: billing".
_SUBJECTS = frozenset(
    ("service", "project", "component", "team", "name", "repository", "system", "title")
)
_LINK = re.compile(r"\[\[(?P<name>[^\[\]|#\n]{1,80})(?:[|#][^\[\]\n]{0,80})?\]\]")
_BULLET = re.compile(r"^\s*(?:[-*]|\d{1,3}[.)])\s+")


def extract_triples(text: str) -> Iterator[ExtractedStatement]:
    """Yield the explicit statements of *text* (see the module), in order."""
    heading: str | None = None
    for match in _LINE.finditer(text):
        line = match.group()
        if not _LINE_CHARS_MIN <= len(line) <= _LINE_CHARS_MAX or not _SIGN.search(line):
            continue
        bare = line.strip()
        title = _HEADING.fullmatch(bare) if bare.startswith("#") else None
        if title is not None:
            heading = title["name"]
            continue
        field = _FIELD.fullmatch(line.rstrip()) if ":" in line else None
        if field is not None and field["key"].casefold() in _SUBJECTS:
            heading = field["value"].strip().removesuffix(".")[:CHARS_MAX]
            continue
        rows = (
            list(_parse_triple(line))
            or list(_parse_field(field, heading))
            or list(_parse_links(line, heading))
        )
        start = match.start() + len(line) - len(line.lstrip())
        end = match.start() + len(line.rstrip())
        for subject, relation, other, qualifier in rows:
            if subject != other and end > start:
                yield ExtractedStatement(subject, relation, other, start, end, qualifier=qualifier)


_Edge = tuple[str, str, str, str | None]


def _parse_triple(line: str) -> Iterator[_Edge]:
    bare = _BULLET.sub("", line.strip())
    for shape in (_ARROW, _PIPE):
        parts = [part.strip() for part in shape.split(bare)]
        if len(parts) != _PARTS or not all(0 < len(part) <= CHARS_MAX for part in parts):
            continue
        subject, words, other = (unwrap(part) or part for part in parts)
        verb = parse_relation(words)
        if verb is not None:
            start, end = (other, subject) if verb.inverted else (subject, other)
            yield start, verb.relation, end, None
        elif shape is _ARROW:
            yield subject, "related_to", other, words
        return


def _parse_field(field: re.Match[str] | None, heading: str | None) -> Iterator[_Edge]:
    verb = FIELDS.get(field["key"].casefold().replace("_", " ")) if field else None
    if field is None or heading is None or verb is None:
        return
    for value in field["value"].split(","):
        thing = unwrap(value) or value.strip().removesuffix(".")
        if 0 < len(thing) <= CHARS_MAX:
            subject, other = (thing, heading) if verb.inverted else (heading, thing)
            yield subject, verb.relation, other, None


def _parse_links(line: str, heading: str | None) -> Iterator[_Edge]:
    if "[[" not in line:
        return
    names = list(dict.fromkeys(match["name"].strip() for match in _LINK.finditer(line)))
    first = heading if heading is not None else (names.pop(0) if names else None)
    for other in names:
        if first is not None and other:
            yield first, "links_to", other, None
