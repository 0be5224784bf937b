"""Find what the user postpones. Pure.

"Let's do the retries tomorrow" names the task. "Do it next time" refers to the agent's last
sentences, or to what the user suggested before, and "tomorrow maybe" to the sentence before it;
then that text is the open point. What the agent reports as done is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile, zip_longest
from typing import NamedTuple

from memd.sleep.distil.agent.calls import edited_path
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.language.open_work import (
    ITEM,
    OFFERED,
    OPEN_CHARS,
    USER_LABEL,
    defers,
    describes_no_task,
    drop_farewells,
    find_deferred_heading,
    is_missing,
    is_remaining_work,
    postpones,
)
from memd.sleep.distil.language.phrases import PRINTED
from memd.sleep.distil.language.prose import sentences
from memd.sleep.distil.language.signs import POINTS
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.quotations import fold_words
from memd.sleep.distil.user.speech_acts import approves
from memd.text.alternations import Phrases
from memd.text.words import content_stems
from memd.text.words import sentences as split_sentences

_TAIL_CHARS = 1_500  # the end of a message, which is read
_SPOKEN_CHARS = 240  # of the agent's last sentences as an open point
_TAKEN_SHARE = 0.5  # of a point's words in a later message: the user has taken it up
_PARTING = 2  # the last messages of the user, in which anything postponed is open
_OWN_WORDS_MIN = 2  # of an item in the user's list
_TICKED = re.compile(r"\[[xX]\]")
_TODO = re.compile(r"\[[ ~-]?\]\s*|(?:to-?do|fixme)\s*:\s*", re.IGNORECASE)
_WHEN = Phrases(
    r"\b(?:later|soon|tomorrow|tonight|today|then|(?:next|another|this) (?:time|week|month|day|one)"
    r"|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|morgen|später|demain|plus tard|mañana"
    r"|domani|amanhã|depois)\b"
)
# Subjects and verbs that do not say what is postponed: "we look", "I'll do".
_ANYTHING = Phrases(
    r"\b(?:(?:i|we|you)(?:'ll)?|let's|will|ok(?:ay)?|maybe|ich|wir|on|je|ik|look|see"
    r"|talk|think|decide|discuss|continue|rest|more|d(?:er|en|ie)|dann|machen|schauen|sehen|verra|vemos"
    r"|veremos|vediamo|zien)\b"
)
_SUGGESTS = Phrases(
    r"\W*(?:(?:ok(?:ay)?|so|and|und|also)\b\W*)?"
    r"(?:(?:should|shall) (?:we|i|you)|(?:sollen|sollten|wollen) wir|soll(?:te)? ich)\b"
    r"(?P<step>.*?)(?: (?:now|jetzt|today|heute|then))?\?$"
)
# In a report of work: a question, or something that is not done.
_UNDONE = re.compile(
    r"\?|\b(?:next|could|would|still|missing|not|yet|remain\w*|left|needs?"
    r"|noch|fehl\w+|nicht|n(?:ä|ae)chste\w*|k(?:ö|oe)nnte\w*)\b",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"(?:yes|no|yep|nope|ja|nein|oui|non|s\u00ed)[:,.!]\s+", re.IGNORECASE)
_ASKS_WHEN = Phrases(r"\b(?:when|how soon|(?:which|what) (?:day|date|time|week))\b", re.IGNORECASE)

_DATE = (
    r"(?:tomorr?ow|tmrw?|(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:the )?next (?:week|month|sprint|release)"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|übermorgen|morgen"
    r"|nächste[nrs]? (?:woche|monat|sprint|release))"
)
_LATER = (
    rf"(?:{_DATE}|later|soon|(?:the )?next (?:time|session)|another (?:time|day)|später"
    r"|(?:das )?nächstes? mal)"
)
# "Next: ..." is an order, and "note for next time: ..." is advice.
_DICTATED = Phrases(
    r"(?:- )?(?:(?:ok(?:ay)?|and|also|und)\b[,\s]+)*(?:"
    rf"to[- ]?dos?(?P<when>(?:,? (?:(?:for|für) )?{_LATER})?)"
    r"|(?P<date>(?:(?:still |noch )?(?:open|offen)|left|reminder|remember|note|merken|notiz)"
    rf" (?:for|für) {_DATE})):\s*(?P<task>\S.*)"
)
_TICKET = re.compile(r"\W*(?:\w+ )?[A-Z][A-Z0-9]+-\d+\W*")
_NO_TASK = re.compile(r"\W*(?:(?:none|nothing|nix|nichts|keine)\b|$)", re.IGNORECASE)


class OpenPoint(NamedTuple):
    """An open point; *by_user* says that its text is the user's own."""

    text: str
    by_user: bool = False


class _Todo(NamedTuple):
    """A to-do; *is_for_later* says that it names a later time."""

    task: str
    is_for_later: bool


def find_deferrals(exchanges: Sequence[Exchange]) -> list[OpenPoint]:
    """Return what the user postpones, the latest message first.

    The last messages count unless files were edited since. Earlier ones count if they postpone
    something beyond the session and no later message takes it up. A to-do ("todo: ...") counts
    wherever it was said until a later message takes it up. A point is *by_user* only if the user
    typed it: not if they pasted it, or a program wrote it in their name.
    """
    deferrals: list[OpenPoint] = []
    asked = [exchange for exchange in reversed(exchanges) if exchange.user]
    parting = 0
    for exchange in asked[:_PARTING]:
        parting += 1
        has_edits = any(map(edited_path, exchange.runs))
        items, lines = _split_message(exchange)
        points = [] if has_edits else items
        points += [cut(text, 2 * OPEN_CHARS) for text in _parting_lines(lines, has_edits=has_edits)]
        deferrals += [_as_point(exchange, text) for text in points]
        deferred = [point for point, _ in _find_deferred(exchange, lines, asked[parting:])]
        deferrals += [point for point in deferred if point.by_user or not has_edits]
        if has_edits:
            break
    deferrals += _find_todos(asked)
    for at, exchange in enumerate(asked[parting:], parting):
        around = chain.from_iterable(near.runs for near in asked[at - 1 : at + 1])
        if any(map(edited_path, around)):
            continue  # the edits may have done it
        _, lines = _split_message(exchange)
        deferrals += [
            point
            for point, is_beyond in _find_deferred(exchange, lines, asked[at + 1 :])
            if is_beyond and not _is_taken_up(point.text, asked[:at])
        ]
    return deferrals


def _find_todos(asked: Sequence[Exchange]) -> Iterator[OpenPoint]:
    """Yield the to-dos that the user typed; *asked* begins with the latest message.

    Left out are those that edits may have done: edits on the same message unless it names a later
    time, or on the next one if that only says "do it".
    """
    for at, exchange in enumerate(asked):
        has_edits = any(map(edited_path, exchange.runs))
        for todo in filter(None, map(_find_todo, _with_tickets(_split_message(exchange)[1]))):
            point = _as_point(exchange, cut(todo.task, 2 * OPEN_CHARS))
            may_be_done = (has_edits and not todo.is_for_later) or _is_done(point.text, asked[:at])
            if point.by_user and not may_be_done:
                yield point


def _with_tickets(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines*, each with a line after it that only names its ticket.

    >>> list(_with_tickets(["todo: cut over the dns.", "ticket OPS-12"]))
    ['todo: cut over the dns. ticket OPS-12', 'ticket OPS-12']
    """
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        yield f"{line} {after}" if _TICKET.fullmatch(after) else line


def _find_todo(sentence: str) -> _Todo | None:
    """Return the to-do that a user's *sentence* dictates, None without one.

    >>> _find_todo("todo: cut over the dns"), _find_todo("TODO for later: refunds")
    (_Todo(task='cut over the dns', is_for_later=False), _Todo(task='refunds', is_for_later=True))
    >>> _find_todo("# TODO: cut over the dns"), _find_todo("todo: nothing")
    (None, None)
    """
    match = _DICTATED.match(sentence)
    if match is None:
        return None
    task = match["task"]
    if task.endswith("?") or _NO_TASK.match(task) or PRINTED.search(task):
        return None
    return _Todo(task, bool(match["when"] or match["date"]))


def _is_done(text: str, later: Sequence[Exchange]) -> bool:
    """Return whether *later* exchanges, the latest first, take a point up or report its edits."""
    edited = [exchange for exchange in later if any(map(edited_path, exchange.runs))]
    following = later[-1:] if later and later[-1] in edited else ()
    stems = content_stems(text)
    return (
        _is_taken_up(text, later)
        or any(_names_nothing(exchange.user) or approves(exchange.user) for exchange in following)
        or any(
            len(stems & content_stems(spoken.text)) >= _TAKEN_SHARE * len(stems)
            for exchange in edited
            for spoken in exchange.texts[-1:]
        )
    )


def _split_message(exchange: Exchange) -> tuple[list[str], list[str]]:
    """Return the items that the user lists as open, and the other sentences of the message."""
    items, prose = _split_list(exchange.user[-_TAIL_CHARS:])
    return items, [part for line in sentences(prose) for part in split_sentences(line.text)]


def _as_point(exchange: Exchange, text: str) -> OpenPoint:
    """Return *text* as an open point; it is *by_user* if they typed it in *exchange*."""
    own = fold_words("\n".join(words(exchange.user).paragraphs))
    return OpenPoint(text, fold_words(text) in own)


def _parting_lines(lines: Sequence[str], *, has_edits: bool) -> Iterator[str]:
    """Yield those *lines* of a parting message that say what is open.

    After edits, only those that postpone it: they may have done what was missing.
    """
    for line in lines:
        label = USER_LABEL.match(line) if ":" in line else None
        text = line[label.end() :] if label else line
        is_listed = label and not describes_no_task(text) and is_remaining_work(text)
        if _names_nothing(text) or defers(text) or _find_todo(line):
            continue
        if postpones(text) or (not has_edits and (is_listed or is_missing(text))):
            yield text


def _find_deferred(
    exchange: Exchange, lines: Sequence[str], earlier: Sequence[Exchange]
) -> Iterator[tuple[OpenPoint, bool]]:
    """Yield what *lines* postpone, and whether that is beyond the session.

    If a line does not name it, that is the line before ("open: the icons. not today"), what the
    user suggested in the message before (*earlier* begins with it), or what the agent said last.
    """
    for number, line in enumerate(lines):
        deferral = None if _find_todo(line) else defers(line)
        if deferral is None:
            continue
        before = lines[number - 1] if number else ""
        if not deferral.task and (label := USER_LABEL.match(before)):
            task = cut(before[label.end() :], 2 * OPEN_CHARS)
            yield _as_point(exchange, task), deferral.is_beyond
        elif deferral.task and not _names_nothing(_without_verb(deferral.task)):
            yield _as_point(exchange, cut(line, 2 * OPEN_CHARS)), deferral.is_beyond
        elif not deferral.task and is_remaining_work(before) and not approves(before):
            yield _as_point(exchange, cut(before, 2 * OPEN_CHARS)), deferral.is_beyond
        elif suggestion := next(chain.from_iterable(map(_suggestions, earlier[:1])), None):
            yield suggestion, deferral.is_beyond
        elif (spoken := _last_spoken(exchange)) and not (
            _ASKS_WHEN.search(spoken) or _reports_work(spoken, earlier[:1])
        ):
            yield OpenPoint(spoken), deferral.is_beyond


def _suggestions(exchange: Exchange) -> Iterator[OpenPoint]:
    """Yield the questions of the user that suggest a step: "should we do the refunds now?"."""
    for line in _split_message(exchange)[1]:
        match = _SUGGESTS.match(line)
        if match and not _names_nothing(_without_verb(match["step"].strip())):
            yield _as_point(exchange, cut(line, 2 * OPEN_CHARS))


def _reports_work(spoken: str, previous: Sequence[Exchange]) -> bool:
    """Return whether the agent's words only report the edits of the *previous* exchange."""
    has_edits = any(edited_path(run) for exchange in previous for run in exchange.runs)
    return has_edits and not (_UNDONE.search(spoken) or OFFERED.search(spoken))


def _without_verb(what: str) -> str:
    """Return the object of an order such as "add it", any other text as it is."""
    return what.partition(" ")[2] if POINTS.search(what) else what


def _last_spoken(exchange: Exchange) -> str:
    """Return the agent's last sentences before *exchange*, in at most _SPOKEN_CHARS characters.

    Without the "yes" or "no" to a question that does not stand beside it.
    """
    parts: list[str] = []
    for sentence in reversed(sentences(exchange.before[-1].text) if exchange.before else []):
        if parts and sum(map(len, parts)) + len(sentence.text) > _SPOKEN_CHARS:
            break
        parts.insert(0, sentence.text)
    spoken = " ".join(parts)
    answer = _YES_OR_NO.match(spoken)
    return cut(spoken[answer.end() :] if answer else spoken, _SPOKEN_CHARS)


def _is_taken_up(text: str, later: Sequence[Exchange]) -> bool:
    """Return whether a *later* message of the user has half of the words of a point."""
    stems = content_stems(text)
    return any(
        len(stems & content_stems(exchange.user)) >= _TAKEN_SHARE * len(stems) for exchange in later
    )


def _names_nothing(text: str) -> bool:
    """Return whether *text* does not say what it postpones: "we look later", "I'll do it later"."""
    words_min = _OWN_WORDS_MIN if POINTS.search(text) else 1
    return len(content_stems(_ANYTHING.sub(" ", _WHEN.sub(" ", drop_farewells(text))))) < words_min


def _split_list(text: str) -> tuple[list[str], str]:
    """Return the items below a heading such as "Later:", and the other lines of *text*.

    Below a heading with a colon, lines without list marks up to an empty line are items, too.
    """
    items: list[str] = []
    prose: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        begin = find_deferred_heading(lines[at]) if lines[at + 1 :] else -1
        listed = _list_below(lines, at) if begin >= 0 else []
        prose.append(lines[at][:begin] if listed else lines[at])
        items += [item for line in listed if (item := _own_item(line))]
        at += 1 + len(listed)
    return items, "\n".join(prose)


def _list_below(lines: Sequence[str], at: int) -> list[str]:
    """Return the lines of the list below the heading in line *at*."""
    below = list(lines[at + 1 :])
    marked = list(takewhile(lambda line: not line.strip() or ITEM.match(line.strip()), below))
    if any(map(str.strip, marked)) or not lines[at].rstrip("*_ ").endswith(":"):
        return marked if any(map(str.strip, marked)) else []
    return list(takewhile(lambda line: 0 < len(line.strip()) <= OPEN_CHARS, below))


def _own_item(line: str) -> str:
    """Return the text of an item in the user's list, "" if it is ticked or has a single word."""
    text = ITEM.sub("", line.strip(), count=1)
    if _TICKED.match(text):
        return ""
    text = _TODO.sub("", text).strip()
    return cut(text, OPEN_CHARS) if len(text.split()) >= _OWN_WORDS_MIN else ""
