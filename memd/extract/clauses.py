"""What one clause says: subject, verb, object, and what it holds for and when.

A clause is read by its verb: what stands before must be a name, what stands
behind it too, and where either is not, nothing is said. A :class:`Story` carries
what an earlier clause of the same text leaves open: "the team used Flask until March,
*then switched* to Litestar".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memd.extract.things import TEAM, loosely, name
from memd.extract.verbs import FIELDS, FORMS, SAID, Verb
from memd.extract.when import When

OBJECTS_MAX = 5


@dataclass(slots=True)
class Story:
    """What the clauses read so far leave for the next."""

    speaker: str | None = None
    now_us: int | None = None
    subject: str | None = None
    using: str | None = None
    until_us: int | None = None
    last: str | None = None


class ClauseStatement(NamedTuple):
    """One statement of a clause, without its place in the text."""

    subject: str
    relation: str
    object: str
    negated: bool = False
    qualifier: str | None = None
    from_us: int | None = None
    to_us: int | None = None


class _Span(NamedTuple):
    from_us: int | None = None
    to_us: int | None = None


@dataclass(frozen=True, slots=True)
class _Predicate:
    """A verb that was found, what stands before and behind it, and the times of its clause."""

    subject: str
    match: re.Match[str]
    rest: str
    times: Sequence[When]
    story: Story

    @property
    def verb(self) -> Verb:
        return _form(self.match)

    @property
    def negated(self) -> bool:
        return bool(self.match["no"] or self.match["after"])


@dataclass(frozen=True, slots=True)
class _Objects:
    """What stands behind a verb: the things, those that are ruled out, and for what it holds."""

    things: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    qualifier: str | None = None
    instead: str | None = None
    """After "with": what came in its place."""


_EXCEPTION = re.compile(
    r"^(?:the\s+|one\s+|only\s+)*exceptions?(?:\s*[:\u2014\u2013-]\s*|\s+is(?:\s+that)?\s+)"
    r"|^except(?:\s+that|\s+for)?\s+|^with\s+the\s+exception\s+of\s+",
    re.IGNORECASE,
)
_WHAT = r"(?:\s+(?P<what>[\w+#-]+(?:\s[\w+#-]+){0,2}?))??"
_STANDARD = re.compile(
    r"^(?P<thing>.+?)\s+(?:is|are|remains?|stays?|(?P<begins>becomes?|became|is\s+becoming))\s+"
    r"(?:now\s+|still\s+)?(?P<no>not\s+|no\s+longer\s+)?(?:(?:the|our|a)\s+|(?P<who>[^'\u2019]+)['\u2019]s\s+)"
    rf"(?:company\s+|team\s+|new\s+)?(?:standard|default){_WHAT}"
    r"(?:\s+(?:for|in|at)\s+(?P<purpose>.+))?$",
    re.IGNORECASE,
)
_STANDARD_IS = re.compile(
    r"^(?:(?:the|our)\s+|(?P<who>[^'\u2019]+)['\u2019]s\s+)(?:company\s+|team\s+|new\s+)?(?:standard|default)"
    rf"{_WHAT}(?:\s+(?:for|in|at)\s+(?P<purpose>[^,]+?))?"
    r"\s+(?:is|remains|(?P<begins>becomes|became))\s+(?:now\s+|still\s+)?(?P<no>not\s+|no\s+longer\s+)?"
    r"(?P<thing>.+)$",
    re.IGNORECASE,
)
_HAS = re.compile(
    r"^(?:the\s+(?P<key>[a-z]+)\s+of\s+(?P<of>.+)|(?P<whose>.+?)['\u2019]s\s+(?P<own>[a-z]+))$",
    re.IGNORECASE,
)
_TO = re.compile(r"^(?:over\s+)?(?:from\s+(?P<old>.+?)\s+(?:over\s+)?)?to\s+(?P<new>.+)$", re.I)
_TO_FROM = re.compile(r"^(?:over\s+)?to\s+(?P<new>.+?)\s+from\s+(?P<old>.+)$", re.IGNORECASE)
_TAIL = re.compile(
    r"(?:,?\s+|,\s*)(?P<word>for|in|on|at|during|instead\s+of|rather\s+than|over|but\s+not|and\s+not"
    r"|not|because|so|to|as|with|from|by|which|that|who|when|while|whenever|if|unless|via|than"
    r"|until|since|like|after|before|per)\s+|\s*(?P<mark>[,(:\u2014\u2013])\s*|\s+-\s+",
    re.IGNORECASE,
)
_AND = re.compile(r"\s+(?:and|&|\+)\s+", re.IGNORECASE)
_A = re.compile(r"^an?\s+", re.IGNORECASE)
_OUT = frozenset(("instead of", "rather than", "over", "but not", "and not", "not"))
_SCOPE = frozenset(("for", "in", "on", "at", "during"))
_CONDITION = frozenset(("when", "while", "whenever", "if", "unless"))
_LOOSE = frozenset(("uses", "prefers", "requires", "depends_on", "works_on", "standardises_on"))
_ONE_OF = frozenset(("member_of",))
_GROUP = re.compile(r"(?:team|department|group|squad|guild|company|organisation)s?$", re.IGNORECASE)


def clause(text: str, times: Sequence[When], story: Story) -> Iterator[ClauseStatement]:
    """Yield what *text*, a clause without its words of time, says at *times*."""
    exception = _EXCEPTION.match(text)
    if exception is None:
        yield from _plainly(text, times, story)
        return
    excepted = story.last or TEAM
    rest = text[exception.end() :]
    statements = list(_plainly(rest, times, story))
    only = name(rest, story.speaker) if not statements else None
    subject = statements[0].subject if statements else only
    if subject and subject not in {excepted, TEAM}:
        story.subject = subject
        yield ClauseStatement(subject, "except_for", excepted)
    yield from statements


def _plainly(text: str, times: Sequence[When], story: Story) -> Iterator[ClauseStatement]:
    standard = list(_standard(text, times, story))
    if standard:
        yield from standard
        return
    for match in SAID.finditer(text):
        subject = _subject(text[: match.start()], match, story)
        if subject is not None:
            rest = text[match.end() :].strip()
            yield from _clauses(_Predicate(subject, match, rest, times, story))
            return


def _subject(before: str, match: re.Match[str], story: Story) -> str | None:
    """Return who does it; a command is everyone's, and "then" goes on with the one before."""
    if before.strip(" ,:"):
        attribute = _HAS.match(before.strip())
        return before.strip() if attribute else name(before, story.speaker)
    if story.subject is not None:
        return story.subject
    verb = _form(match)
    return TEAM if verb.bare and not match["modal"] else None


def _form(match: re.Match[str]) -> Verb:
    return FORMS[" ".join(match["verb"].casefold().split())]


def _clauses(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, story = predicate.subject, predicate.story
    if not _means_it(predicate):
        return
    if predicate.verb.doing == "is":
        statements = _is(predicate)
    elif _HAS.match(subject) and name(subject, story.speaker) is None:
        return
    elif predicate.verb.doing == "state":
        statements = _state(predicate)
    elif predicate.negated:
        return
    else:
        statements = _switch(predicate) if predicate.verb.doing == "switch" else _event(predicate)
    for statement in statements:
        if statement.subject != statement.object:
            story.subject, story.last = subject, statement.object
            yield statement


def _means_it(predicate: _Predicate) -> bool:
    match, verb = predicate.match, predicate.verb
    modal = (match["modal"] or "").casefold()
    if modal in {"would", "could", "might", "had"}:
        return False
    if modal in {"will", "shall"} and not match["no"]:
        return bool(predicate.times)
    if verb.doing == "switch" and match["verb"].casefold() in {"switch", "migrate"}:
        return bool(predicate.times)
    if verb.tense == "past" and verb.doing == "is":
        return bool(predicate.times)
    return not (verb.tense == "past" and predicate.negated)


# The kinds of verbs.


def _standard(text: str, times: Sequence[When], story: Story) -> Iterator[ClauseStatement]:
    match = _STANDARD.match(text) or _STANDARD_IS.match(text)
    thing = loosely(match["thing"]) if match else None
    if match is None or thing is None:
        return
    subject = name(match["who"], story.speaker) if match["who"] else TEAM
    purpose = loosely(match["purpose"] or "") or loosely(match["what"] or "")
    if subject is None:
        return
    span = _Span(_moment(times)) if match["begins"] else _lasting(times)
    story.subject, story.last = subject, thing
    negated = bool(match["no"])
    yield ClauseStatement(subject, "standardises_on", thing, negated, purpose, *span)


def _state(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, verb, story = predicate.subject, predicate.verb, predicate.story
    span = _lasting(predicate.times)
    if verb.tense == "past" and span == _Span():
        if story.now_us is None:
            return
        span = _Span(None, story.now_us)
    behind = _objects(predicate.rest, loose=verb.relation in _LOOSE)
    for thing in behind.things:
        if not _can_be(verb, thing):
            continue
        one, other = (thing, subject) if verb.turned else (subject, thing)
        yield ClauseStatement(one, verb.relation, other, predicate.negated, behind.qualifier, *span)
        if verb.relation == "uses":
            story.using, story.until_us = thing, span.to_us
    for thing in behind.ruled_out if not predicate.negated else ():
        yield ClauseStatement(subject, verb.relation, thing, True, behind.qualifier, *span)


def _event(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, verb = predicate.subject, predicate.verb
    moment = _moment(predicate.times)
    behind = _objects(predicate.rest, loose=verb.relation in _LOOSE)
    if verb.relation == "replaces" and behind.instead and behind.things:
        when = moment or predicate.story.now_us
        yield from _changed(subject, behind.things[0], behind.instead, when)
        return
    stops = verb.doing == "stop"
    for thing in behind.things:
        if not _can_be(verb, thing):
            continue
        one, other = (thing, subject) if verb.turned else (subject, thing)
        yield ClauseStatement(one, verb.relation, other, stops, behind.qualifier, moment)


def _can_be(verb: Verb, thing: str) -> bool:
    """Return whether a thing can be at that end: one joins a team or a name, not "the party"."""
    return (
        verb.relation not in _ONE_OF or not thing.startswith("the ") or bool(_GROUP.search(thing))
    )


def _switch(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, story = predicate.subject, predicate.story
    way = _TO_FROM.match(predicate.rest) or _TO.match(predicate.rest)
    if way is None:
        return
    new = _objects(way["new"], loose=False)
    old = _objects(way["old"] or "", loose=True).things
    moved = predicate.match["verb"].casefold().split()[-1] in {"moved", "changed"}
    moment = _moment(predicate.times) or story.until_us or story.now_us
    if not new.things:
        return
    if moved and subject != TEAM and not _GROUP.search(subject):
        if new.things[0].startswith("the "):
            return
        for thing in old[:1]:
            yield ClauseStatement(subject, "located_in", thing, to_us=moment)
        yield ClauseStatement(subject, "located_in", new.things[0], from_us=moment)
        return
    before = old[0] if old else story.using
    if before is None and not moved:
        yield ClauseStatement(
            subject, "uses", new.things[0], qualifier=new.qualifier, from_us=moment
        )
    if before is not None:
        yield from _changed(subject, before, new.things[0], moment, new.qualifier)


def _changed(
    subject: str, old: str, new: str, moment: int | None, qualifier: str | None = None
) -> Iterator[ClauseStatement]:
    yield ClauseStatement(subject, "uses", old, qualifier=qualifier, to_us=moment)
    yield ClauseStatement(subject, "uses", new, qualifier=qualifier, from_us=moment)
    yield ClauseStatement(new, "replaces", old, qualifier=qualifier, from_us=moment)


def _is(predicate: _Predicate) -> Iterator[ClauseStatement]:
    """Yield who is in which role, what is of which kind, and "the owner of X is Y"."""
    subject, rest, negated, span = (
        predicate.subject,
        predicate.rest,
        predicate.negated,
        _lasting(predicate.times),
    )
    attribute = _HAS.match(subject)
    if attribute is not None:
        yield from _attribute(attribute, predicate)
        return
    kind = _A.match(rest)
    if kind is not None:
        thing = _objects(rest[kind.end() :], loose=True).things
        if thing and subject != TEAM and not subject.startswith("the "):
            yield ClauseStatement(subject, "is_a", thing[0], negated, None, *span)
        return
    behind = _objects(rest, loose=False)
    if len(behind.things) != 1:
        return
    who = behind.things[0]
    roles = [one.startswith("the ") for one in (subject, who)]
    if roles == [False, True]:
        yield ClauseStatement(who, "is", subject, negated, behind.qualifier, *span)
    elif roles == [True, False] and subject != TEAM:
        yield ClauseStatement(subject, "is", who, negated, behind.qualifier, *span)


def _attribute(match: re.Match[str], predicate: _Predicate) -> Iterator[ClauseStatement]:
    verb = FIELDS.get((match["key"] or match["own"]).casefold())
    whose = name(match["of"] or match["whose"])
    things = _objects(predicate.rest, loose=False).things
    if verb is None or whose is None or not things:
        return
    one, other = (things[0], whose) if verb.turned else (whose, things[0])
    span = _lasting(predicate.times)
    yield ClauseStatement(one, verb.relation, other, predicate.negated, None, *span)


# What stands behind a verb.


def _objects(rest: str, *, loose: bool) -> _Objects:
    """Return the things that *rest* begins with; none where a condition follows."""
    take = loosely if loose else name
    pieces = list(_pieces(rest))
    things: list[str] = []
    objects = _Objects()
    for place, (word, piece) in enumerate(pieces):
        if word in _CONDITION:
            return _Objects()
        if place == 0 or (word == "," and things):
            things += _listed(piece, take if place == 0 else name)
        elif word in _OUT:
            objects = replace(objects, ruled_out=(*objects.ruled_out, *_listed(piece, take)))
        elif word in _SCOPE and objects.qualifier is None:
            objects = replace(objects, qualifier=loosely(piece))
        elif word == "with" and things:
            objects = replace(objects, instead=name(piece))
    return replace(objects, things=tuple(things[:OBJECTS_MAX]))


def _pieces(rest: str) -> Iterator[tuple[str, str]]:
    at, word = 0, ""
    for match in _TAIL.finditer(rest):
        if match.start() >= at:
            yield word, rest[at : match.start()]
            word = " ".join((match["word"] or match["mark"] or "-").casefold().split())
            at = match.end()
    yield word, rest[at:]


def _listed(piece: str, take: object) -> list[str]:
    assert callable(take)
    whole = take(piece) if not _AND.search(piece) else name(piece) if '"' in piece else None
    if whole is not None:
        return [whole]
    things = [take(part) for part in _AND.split(piece.removeprefix("and ").removeprefix("both "))]
    return [one for one in things if one is not None] if all(things) else []


# When.


def _lasting(times: Sequence[When]) -> _Span:
    """Return the stretch in which what lasts holds."""
    start = next((one.from_us for one in times if one.from_us is not None), None)
    stop = next((one.to_us for one in times if one.to_us is not None), None)
    return _Span(start, stop) if start is None or stop is None or start < stop else _Span()


def _moment(times: Sequence[When]) -> int | None:
    """Return when something happened: the beginning of the time that is named."""
    return next((one.from_us or one.to_us for one in times), None)
