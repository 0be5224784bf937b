"""Parse one clause into statements: subject, relation, object, qualifier and valid time.

A clause is parsed from its verb: without names before and after it, there is no statement.
:class:`TextContext` carries subjects, objects and times over to later clauses, which may omit
them: "the team used Flask until March, *then switched* to Litestar".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memd.extract.entity_names import TEAM, is_in_name, loose_name, name
from memd.extract.time_mentions import TimeMention
from memd.extract.verbs import FIELDS, FORMS, VERB_PHRASE, Verb

OBJECTS_MAX = 5


@dataclass(slots=True)
class TextContext:
    """What later clauses may refer to; *subject* and *last_used* are None at a sentence's start."""

    speaker: str | None = None
    now_us: int | None = None
    subject: str | None = None
    last_used: str | None = None
    used_until_us: int | None = None
    last_object: str | None = None


class ClauseStatement(NamedTuple):
    """One statement of a clause, without its position in the text."""

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
    """A verb, the subject before it, the text after it, and the times of its clause."""

    subject: str
    match: re.Match[str]
    tail: str
    times: Sequence[TimeMention]
    context: TextContext

    @property
    def verb(self) -> Verb:
        return _verb_of(self.match)

    @property
    def negated(self) -> bool:
        return bool(self.match["no"] or self.match["after"])


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of a verb, those that are ruled out, and the qualifier."""

    things: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    qualifier: str | None = None
    replacement: str | None = None
    """After "replaced ... with": the new thing."""


# "the only exception is", "except for", "with the exception of"
_EXCEPTION = re.compile(
    r"^(?:the\s+|one\s+|only\s+)*exceptions?(?:\s*[:\u2014\u2013-]\s*|\s+is(?:\s+that)?\s+)"
    r"|^except(?:\s+that|\s+for)?\s+|^with\s+the\s+exception\s+of\s+",
    re.IGNORECASE,
)
_WHAT = r"(?:\s+(?P<what>[\w+#-]+(?:\s[\w+#-]+){0,2}?))??"
# "Litestar is our standard for APIs", and _STANDARD_IS: "our standard for APIs is Litestar"
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
# "the owner of Billing", "Billing's owner"
_ATTRIBUTE = re.compile(
    r"^(?:the\s+(?P<key>[a-z]+)\s+of\s+(?P<of>.+)|(?P<whose>.+?)['\u2019]s\s+(?P<own>[a-z]+))$",
    re.IGNORECASE,
)
_TO = re.compile(r"^(?:over\s+)?(?:from\s+(?P<old>.+?)\s+(?:over\s+)?)?to\s+(?P<new>.+)$", re.I)
_TO_FROM = re.compile(r"^(?:over\s+)?to\s+(?P<new>.+?)\s+from\s+(?P<old>.+)$", re.IGNORECASE)
# What divides the text after a verb into pieces: prepositions, conjunctions, punctuation.
_TAIL = re.compile(
    r"(?:,?\s+|,\s*)(?P<word>for|in|on|at|during|instead\s+of|rather\s+than|over|but\s+not|and\s+not"
    r"|not|because|so|to|as|with|from|by|which|that|who|when|while|whenever|if|unless|via|than"
    r"|until|since|like|after|before|per)\s+|\s*(?P<mark>[,(:\u2014\u2013])\s*|\s+-\s+",
    re.IGNORECASE,
)
_AND = re.compile(r"\s+(?:and|&|\+)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"^an?\s+", re.IGNORECASE)
# Words before objects that are ruled out, before a qualifier, and before a condition.
_EXCLUDING = frozenset(("instead of", "rather than", "over", "but not", "and not", "not"))
_QUALIFYING = frozenset(("for", "in", "on", "at", "during"))
_CONDITIONAL = frozenset(("when", "while", "whenever", "if", "unless"))
# Relations whose object may be any noun ("uses postgres"); others need a surely recognised name.
_LOOSE = frozenset(("uses", "prefers", "requires", "depends_on", "works_on", "standardises_on"))
_GROUP = re.compile(r"(?:team|department|group|squad|guild|company|organisation)s?$", re.IGNORECASE)


def parse_clause(
    text: str, times: Sequence[TimeMention], context: TextContext
) -> Iterator[ClauseStatement]:
    """Yield the statements of *text*, a clause without its words of time, at *times*."""
    exception = _EXCEPTION.match(text)
    if exception is None:
        yield from _parse_plain(text, times, context)
        return
    excepted = context.last_object or TEAM
    tail = text[exception.end() :]
    statements = list(_parse_plain(tail, times, context))
    subject = statements[0].subject if statements else name(tail, context.speaker)
    if subject and subject not in {excepted, TEAM}:
        context.subject = subject
        yield ClauseStatement(subject, "except_for", excepted)
    yield from statements


def _parse_plain(
    text: str, times: Sequence[TimeMention], context: TextContext
) -> Iterator[ClauseStatement]:
    standard = list(_parse_standard(text, times, context))
    if standard:
        yield from standard
        return
    for match in VERB_PHRASE.finditer(text):
        subject = _find_subject(text[: match.start()], match, context)
        if subject is not None:
            tail = text[match.end() :].strip()
            yield from _parse_predicate(_Predicate(subject, match, tail, times, context))
            return


def _find_subject(before: str, match: re.Match[str], context: TextContext) -> str | None:
    """Return the subject; without one, that of the clause before, or TEAM for a command."""
    if before.strip(" ,:"):
        attribute = _ATTRIBUTE.match(before.strip())
        return before.strip() if attribute else name(before, context.speaker)
    if context.subject is not None:
        return context.subject
    verb = _verb_of(match)
    return TEAM if verb.bare and not match["modal"] else None


def _verb_of(match: re.Match[str]) -> Verb:
    return FORMS[" ".join(match["verb"].casefold().split())]


def _parse_predicate(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, context = predicate.subject, predicate.context
    if not _is_asserted(predicate):
        return
    if predicate.verb.kind == "is":
        statements = _parse_is(predicate)
    elif _ATTRIBUTE.match(subject) and name(subject, context.speaker) is None:
        return
    elif predicate.verb.kind == "state":
        statements = _parse_state(predicate)
    elif predicate.negated:
        return
    else:
        statements = (
            _parse_switch(predicate) if predicate.verb.kind == "switch" else _parse_event(predicate)
        )
    for statement in statements:
        if statement.subject != statement.object:
            context.subject, context.last_object = subject, statement.object
            yield statement


def _is_asserted(predicate: _Predicate) -> bool:
    """Return whether the clause states a fact: not "could use", nor "will use" without a time."""
    match, verb = predicate.match, predicate.verb
    modal = (match["modal"] or "").casefold()
    if modal in {"would", "could", "might", "had"}:
        return False
    if modal in {"will", "shall"} and not match["no"]:
        return bool(predicate.times)
    if verb.kind == "switch" and match["verb"].casefold() in {"switch", "migrate"}:
        return bool(predicate.times)
    if verb.tense == "past" and verb.kind == "is":
        return bool(predicate.times)
    return not (verb.tense == "past" and predicate.negated)


def _parse_standard(
    text: str, times: Sequence[TimeMention], context: TextContext
) -> Iterator[ClauseStatement]:
    match = _STANDARD.match(text) or _STANDARD_IS.match(text)
    thing = loose_name(match["thing"]) if match else None
    if match is None or thing is None:
        return
    subject = name(match["who"], context.speaker) if match["who"] else TEAM
    purpose = loose_name(match["purpose"] or "") or loose_name(match["what"] or "")
    if subject is None:
        return
    span = _Span(_moment(times)) if match["begins"] else _validity(times)
    context.subject, context.last_object = subject, thing
    negated = bool(match["no"])
    yield ClauseStatement(subject, "standardises_on", thing, negated, purpose, *span)


def _parse_state(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, verb, context = predicate.subject, predicate.verb, predicate.context
    span = _validity(predicate.times)
    if verb.tense == "past" and span == _Span():
        if context.now_us is None:
            return
        span = _Span(None, context.now_us)
    objects = _parse_objects(predicate.tail, loose=verb.relation in _LOOSE)
    for thing in objects.things:
        if not _is_possible(verb, thing):
            continue
        one, other = (thing, subject) if verb.inverted else (subject, thing)
        yield ClauseStatement(
            one, verb.relation, other, predicate.negated, objects.qualifier, *span
        )
        if verb.relation == "uses":
            context.last_used, context.used_until_us = thing, span.to_us
    for thing in objects.ruled_out if not predicate.negated else ():
        yield ClauseStatement(subject, verb.relation, thing, True, objects.qualifier, *span)


def _parse_event(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, verb = predicate.subject, predicate.verb
    moment = _moment(predicate.times)
    objects = _parse_objects(predicate.tail, loose=verb.relation in _LOOSE)
    if verb.relation == "replaces" and objects.replacement and objects.things:
        when = moment or predicate.context.now_us
        yield from _change(subject, objects.things[0], objects.replacement, when)
        return
    stops = verb.kind == "stop"
    for thing in objects.things:
        if not _is_possible(verb, thing):
            continue
        one, other = (thing, subject) if verb.inverted else (subject, thing)
        yield ClauseStatement(one, verb.relation, other, stops, objects.qualifier, moment)


def _is_possible(verb: Verb, thing: str) -> bool:
    """Return whether a thing fits the relation: one joins a team or a name, not "the party"."""
    return (
        verb.relation != "member_of" or not thing.startswith("the ") or bool(_GROUP.search(thing))
    )


def _parse_switch(predicate: _Predicate) -> Iterator[ClauseStatement]:
    subject, context = predicate.subject, predicate.context
    change = _TO_FROM.match(predicate.tail) or _TO.match(predicate.tail)
    if change is None:
        return
    new = _parse_objects(change["new"], loose=False)
    old = _parse_objects(change["old"] or "", loose=True).things
    moved = predicate.match["verb"].casefold().split()[-1] in {"moved", "changed"}
    moment = _moment(predicate.times) or context.used_until_us or context.now_us
    if not new.things:
        return
    if moved and subject != TEAM and not _GROUP.search(subject):
        if new.things[0].startswith("the "):
            return
        for thing in old[:1]:
            yield ClauseStatement(subject, "located_in", thing, to_us=moment)
        yield ClauseStatement(subject, "located_in", new.things[0], from_us=moment)
        return
    previous = old[0] if old else context.last_used
    if previous is None and not moved:
        yield ClauseStatement(
            subject, "uses", new.things[0], qualifier=new.qualifier, from_us=moment
        )
    if previous is not None:
        yield from _change(subject, previous, new.things[0], moment, new.qualifier)


def _change(
    subject: str, old: str, new: str, moment: int | None, qualifier: str | None = None
) -> Iterator[ClauseStatement]:
    yield ClauseStatement(subject, "uses", old, qualifier=qualifier, to_us=moment)
    yield ClauseStatement(subject, "uses", new, qualifier=qualifier, from_us=moment)
    yield ClauseStatement(new, "replaces", old, qualifier=qualifier, from_us=moment)


def _parse_is(predicate: _Predicate) -> Iterator[ClauseStatement]:
    """Yield roles ("the CTO is Ann"), kinds ("X is a Y") and attributes ("the owner of X is Y")."""
    subject, tail, negated = predicate.subject, predicate.tail, predicate.negated
    span = _validity(predicate.times)
    attribute = _ATTRIBUTE.match(subject)
    if attribute is not None:
        yield from _parse_attribute(attribute, predicate)
        return
    kind = _ARTICLE.match(tail)
    if kind is not None:
        thing = _parse_objects(tail[kind.end() :], loose=True).things
        if thing and subject != TEAM and not subject.startswith("the "):
            yield ClauseStatement(subject, "is_a", thing[0], negated, None, *span)
        return
    objects = _parse_objects(tail, loose=False)
    if len(objects.things) != 1:
        return
    who = objects.things[0]
    roles = [term.startswith("the ") for term in (subject, who)]
    if roles == [False, True]:
        yield ClauseStatement(who, "is", subject, negated, objects.qualifier, *span)
    elif roles == [True, False] and subject != TEAM:
        yield ClauseStatement(subject, "is", who, negated, objects.qualifier, *span)


def _parse_attribute(match: re.Match[str], predicate: _Predicate) -> Iterator[ClauseStatement]:
    verb = FIELDS.get((match["key"] or match["own"]).casefold())
    whose = name(match["of"] or match["whose"])
    things = _parse_objects(predicate.tail, loose=False).things
    if verb is None or whose is None or not things:
        return
    one, other = (things[0], whose) if verb.inverted else (whose, things[0])
    span = _validity(predicate.times)
    yield ClauseStatement(one, verb.relation, other, predicate.negated, None, *span)


def _parse_objects(tail: str, *, loose: bool) -> _Objects:
    """Return the things at the start of *tail*; none if a condition follows."""
    take = loose_name if loose else name
    pieces = list(_split_pieces(tail))
    things: list[str] = []
    objects = _Objects()
    for place, (word, piece) in enumerate(pieces):
        if word in _CONDITIONAL:
            return _Objects()
        if place == 0 or (word == "," and things):
            things += _split_list(piece, take if place == 0 else name)
        elif word in _EXCLUDING:
            objects = replace(objects, ruled_out=(*objects.ruled_out, *_split_list(piece, take)))
        elif word in _QUALIFYING and objects.qualifier is None:
            objects = replace(objects, qualifier=loose_name(piece))
        elif word == "with" and things:
            objects = replace(objects, replacement=name(piece))
    return replace(objects, things=tuple(things[:OBJECTS_MAX]))


def _split_pieces(tail: str) -> Iterator[tuple[str, str]]:
    """Yield each piece of *tail* after the word or mark before it, "" for the first."""
    at, word = 0, ""
    for match in _TAIL.finditer(tail):
        is_name = match["word"] == "in" and is_in_name(
            tail[at : match.start()], tail[match.end() :]
        )
        if match.start() >= at and not is_name:
            yield word, tail[at : match.start()]
            word = " ".join((match["word"] or match["mark"] or "-").casefold().split())
            at = match.end()
    yield word, tail[at:]


def _split_list(piece: str, take: Callable[[str], str | None]) -> list[str]:
    """Return the things joined by "and" in *piece*, parsed by *take*; none if one is no thing."""
    # In quotation marks, "R and D" may be one thing.
    whole = take(piece) if not _AND.search(piece) else name(piece) if '"' in piece else None
    if whole is not None:
        return [whole]
    things = [take(part) for part in _AND.split(piece.removeprefix("and ").removeprefix("both "))]
    return [thing for thing in things if thing is not None] if all(things) else []


def _validity(times: Sequence[TimeMention]) -> _Span:
    """Return the span in which a state holds; open ends if the times contradict each other."""
    start = next((time.from_us for time in times if time.from_us is not None), None)
    stop = next((time.to_us for time in times if time.to_us is not None), None)
    return _Span(start, stop) if start is None or stop is None or start < stop else _Span()


def _moment(times: Sequence[TimeMention]) -> int | None:
    """Return when an event happened: the beginning of the first time."""
    return next((time.from_us or time.to_us for time in times), None)
