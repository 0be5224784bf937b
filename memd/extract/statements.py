"""A text becomes statements about things: no language model, the same every time.

Precision comes first: a sentence that asks, doubts, reports or leaves open who is
meant says nothing, since a text is found by its words all the same and a wrong
edge leads astray. What is understood: the relations of ``verbs.py`` between names
(``things.py``) at times (``when.py``), exceptions, negations and changes, and the
explicit forms of ``triples.py``.

A change of what the same text says raises ``model.graph.STATEMENTS_VERSION``. Its patterns
take 10 ms to compile: whoever reads texts loads this when the first one comes.

Some forms say it outright: arrows, ``Owner: Ann`` lines and wiki links. ``Billing ->
depends_on -> Postgres`` and ``Billing | owned by | Ann`` say one thing each. Lines of keys
speak of the heading above them, or of the line that names it (``Service: billing``). Two
wiki links in one line, or a link under a heading, make ``links_to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from memd.base.limits import STATEMENTS_CHARS_MAX
from memd.domain.org.graph import ExtractedStatement, fold_name
from memd.extract.clauses import ClauseStatement, Story, clause
from memd.extract.things import CHARS_MAX, name, unwrapped
from memd.extract.verbs import FIELDS, SAID, relation
from memd.extract.when import When, times

STATEMENTS_MAX = 200
_SENTENCE_CHARS_MAX = 400
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+(?=[\s)\"”*]|$)|;(?=\s)|$)", re.MULTILINE)
_DOUBT = re.compile(
    r"\?|\b(?:if|unless|whether|maybe|perhaps|possibly|probably|might|could|would|wish(?:es)?|wonder"
    r"|think|thinks|thought|guess|hope|hopes|suppose|supposed|seems?|imagine|pretend|kidding|heard"
    r"|says?|said|told|asked|asks|claims?|claimed|suggest(?:s|ed)?|propos(?:e|es|ed|al)|considering"
    r"|consider|considered|want|wants|wanted|likely|apparently|rumou?rs?|for example|joke)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\s*(?:[-*>+]\s+|\d{1,3}[.)]\s+)?(?:(?:note|nb|remember|reminder|fyi|btw|by the way|policy"
    r"|rule|decision|decided|convention|update|adr[ -]?\d*|also|so|and|ok|okay|yes|well|hey"
    r"|actually|currently|now|today|please|then|but|we (?:have )?(?:decided|agreed)(?: that)?"
    r"|in short|as a rule)(?:\s*[:,]\s*|\s+(?=[\w`\"“\[]))){0,3}",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"\s*;\s*|,?\s+(?:and\s+)?then\s+|,?\s+but\s+(?!not\b)|\s*[\u2014\u2013]\s*"
    r"|,?\s+(?=except(?:ion)?\b)|,\s+(?:which|who)\s+|\.\s+"
)
_AND = re.compile(r",?\s+and\s+|,\s+(?=(?:we|do|don't|never|use|not\s+use)\s)", re.IGNORECASE)


def statements(
    text: str, now_us: int | None = None, *, speaker: str | None = None
) -> tuple[ExtractedStatement, ...]:
    """Return what *text* says, in order and each thing once.

    *now_us* is when it was said: relative words count from it, and what changed
    without a date changed then. *speaker* stands for "I".

    >>> [(one.subject, one.relation, one.object) for one in statements("We use Litestar.")]
    [('the team', 'uses', 'Litestar')]
    """
    text = _FENCE.sub(lambda match: _blank(match.group()), text[:STATEMENTS_CHARS_MAX])
    explicit = list(triples(text))
    taken = {(one.start, one.end) for one in explicit}
    spoken = (one for one in _prose(text, now_us, speaker) if _apart(one, taken))
    statements_by: dict[object, ExtractedStatement] = {}
    for one in sorted(chain(explicit, spoken), key=lambda one: (one.start, one.end)):
        if _sound(one):
            statements_by.setdefault(_same(one), one)
    return tuple(statements_by.values())[:STATEMENTS_MAX]


def covers(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether each sentence of *text* meets one of *spans*, where statements were read.

    Where it does, the text holds as long as its statements do; where not, it says
    something more, which nothing can contradict.
    """
    read = list(spans)
    return all(
        any(start < end_ and begin < end for begin, end_ in read)
        for start, end in _sentences(text)
        if any(letter.isalnum() for letter in text[start:end])
    )


def things(text: str) -> tuple[str, ...]:
    """Return the names that *text*, a question, mentions: the longest first, each once.

    >>> things("What may the data team use instead of Litestar?")
    ('the data team', 'Litestar')
    """
    words = [match.span() for match in re.finditer(r"\[\[[^\]]+\]\]|[^\s?!,;()]+", text)]
    names: dict[str, str] = {}
    at = 0
    while at < len(words):
        for length in range(min(5, len(words) - at), 0, -1):
            thing = name(text[words[at][0] : words[at + length - 1][1]])
            if thing is not None and not any(map(SAID.fullmatch, thing.split())):
                names.setdefault(fold_name(thing), thing)
                at += length - 1
                break
        at += 1
    return tuple(sorted(names.values(), key=len, reverse=True))


def _sound(one: ExtractedStatement) -> bool:
    names = (one.subject, one.object)
    return all(fold_name(part) and len(part) <= CHARS_MAX for part in names) and fold_name(
        one.subject
    ) != fold_name(one.object)


def _same(one: ExtractedStatement) -> object:
    return (
        fold_name(one.subject),
        one.relation,
        fold_name(one.object),
        one.negated,
        fold_name(one.qualifier or ""),
        one.valid_from_us,
        one.valid_to_us,
    )


def _apart(one: ExtractedStatement, taken: set[tuple[int, int]]) -> bool:
    return not any(start <= one.start < end for start, end in taken)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        while start < end and text[start].isspace():
            start += 1
        if start < end:
            yield start, end


def _prose(text: str, now_us: int | None, speaker: str | None) -> Iterator[ExtractedStatement]:
    story = Story(speaker=speaker, now_us=now_us)
    for start, end in _sentences(text):
        sentence = text[start:end]
        if end - start > _SENTENCE_CHARS_MAX or _DOUBT.search(sentence):
            continue
        story.subject = story.using = story.until_us = None
        times_in = times(sentence, now_us)
        bare = _without(sentence.rstrip(".!; "), times_in)
        clauses = list(_clauses(bare))
        for place, (begin, close) in enumerate(clauses):
            after = clauses[place + 1][0] if place + 1 < len(clauses) else len(sentence)
            inside = [one for one in times_in if begin <= one.start < after]
            lead = _LEAD.match(bare[begin:close])
            first = begin + (lead.end() if lead else 0)
            stop = max([close, *(one.end for one in inside)])
            for statement in clause(bare[first:close].strip(" ,"), inside, story):
                yield _statement(statement, start + begin, start + max(stop, begin + 1))


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


def _without(sentence: str, times_: tuple[When, ...]) -> str:
    for one in times_:
        sentence = sentence[: one.start] + " " * (one.end - one.start) + sentence[one.end :]
    return sentence


def _clauses(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the clauses of a sentence: at "then", "but", a semicolon, and between two subjects."""
    begin = 0
    for match in _BREAK.finditer(sentence):
        if match.start() > begin:
            yield from _joined(sentence, begin, match.start())
        begin = match.end()
    yield from _joined(sentence, begin, len(sentence))


def _joined(sentence: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _AND.finditer(sentence, begin, end):
        right = SAID.search(sentence, match.end(), end)
        if right is None or not SAID.search(sentence, begin, match.start()):
            continue
        subject = sentence[match.end() : right.start()].strip()
        if not subject or name(subject) is not None:
            yield begin, match.start()
            begin = match.end()
    if begin < end:
        yield begin, end


def _blank(block: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in block)


_LINE = re.compile(r"[^\n]+")
_ARROW = re.compile(r"\s*(?:--?>|=>|\u2192|--)\s*")
_PIPE = re.compile(r"\s*\|\s*")
_PARTS = 3
_LINE_CHARS_MIN = 3  # "# a", the shortest heading
_LINE_CHARS_MAX = 400
_SIGN = re.compile(
    r"^\s*#{1,6}\s|:(?:\*\*)?\s+\S|\[\[|\|.*\||(?:-->?|->|=>|\u2192).*(?:--|->|=>|\u2192)"
)
"""What a line has that says anything here, or names what others speak of.

Each pattern is tried only on a line that has what it cannot do without.
"""
_HEADING = re.compile(r"#{1,6}\s+(?P<name>[^#\n]{1,80}?)\s*#*")
_FIELD = re.compile(
    r"\s*(?:[-*]\s+)?(?:\*\*)?(?P<key>[A-Za-z][a-z_ -]{2,20}?)(?:\*\*)?:(?:\*\*)?\s+"
    r"(?P<value>\S.{0,200})"
)
_SUBJECTS = frozenset(
    ("service", "project", "component", "team", "name", "repository", "system", "title")
)
_LINK = re.compile(r"\[\[(?P<name>[^\[\]|#\n]{1,80})(?:[|#][^\[\]\n]{0,80})?\]\]")
_BULLET = re.compile(r"^\s*(?:[-*]|\d{1,3}[.)])\s+")


def triples(text: str) -> Iterator[ExtractedStatement]:
    """Yield what *text* says in arrows, bars, keys and links, in order."""
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
        rows = list(_explicit(line)) or list(_field(field, heading)) or list(_links(line, heading))
        start = match.start() + len(line) - len(line.lstrip())
        end = match.start() + len(line.rstrip())
        for one in rows:
            if one[0] != one[2] and end > start:
                yield ExtractedStatement(one[0], one[1], one[2], start, end, qualifier=one[3])


_Edge = tuple[str, str, str, str | None]


def _explicit(line: str) -> Iterator[_Edge]:
    bare = _BULLET.sub("", line.strip())
    for shape in (_ARROW, _PIPE):
        parts = [part.strip() for part in shape.split(bare)]
        if len(parts) != _PARTS or not all(0 < len(part) <= CHARS_MAX for part in parts):
            continue
        one, words, other = (unwrapped(part) or part for part in parts)
        verb = relation(words)
        if verb is not None:
            yield (
                (other, verb.relation, one, None)
                if verb.turned
                else (
                    one,
                    verb.relation,
                    other,
                    None,
                )
            )
        elif shape is _ARROW:
            yield one, "related_to", other, words
        return


def _field(field: re.Match[str] | None, heading: str | None) -> Iterator[_Edge]:
    verb = FIELDS.get(field["key"].casefold().replace("_", " ")) if field else None
    if field is None or heading is None or verb is None:
        return
    for value in field["value"].split(","):
        thing = unwrapped(value) or value.strip().removesuffix(".")
        if 0 < len(thing) <= CHARS_MAX:
            one, other = (thing, heading) if verb.turned else (heading, thing)
            yield one, verb.relation, other, None


def _links(line: str, heading: str | None) -> Iterator[_Edge]:
    if "[[" not in line:
        return
    names = list(dict.fromkeys(match["name"].strip() for match in _LINK.finditer(line)))
    first = heading if heading is not None else (names.pop(0) if names else None)
    for other in names:
        if first is not None and other:
            yield first, "links_to", other, None
