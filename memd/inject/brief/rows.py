"""Which of a project's memories a brief tells, in which order, and what earlier sessions left open.

The rules come first: they do not age. All else loses worth with every later session, and outcomes
come last. The last digest tells what its own session left open. A point of an earlier one is told
until a later session speaks of it: what was done about it stands in that session's memories. What
was to be committed or pushed is not told: it passes with its session. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import (
    DIGEST_TAG,
    FIX_TAG,
    OPEN_FIELD,
    USER_OPEN_FIELD,
    user_part,
    without_outcome,
)
from memd.store.session.briefs import RULE_KINDS, BriefRow
from memd.text.harms import HARMS
from memd.text.words import content_stems, sentences

KIND_WORTH: Mapping[str, float] = MappingProxyType(
    {"correction": 2.0, "preference": 2.0, "constraint": 2.0, "environment": 2.0, "decision": 1.5}
)
"""Weight by kind: lasting kinds count more."""
COMMANDS, PURPOSES = "commands", ("test", "check", "build", "run")
"""Of a project's commands those that come first."""
EXPLICIT_WORTH = 2.0  # of a memory that was stored on purpose, not by a nap
HALF_LIFE_SESSIONS = 3.0
OUTCOME_SESSIONS = 12  # the latest, of which is told what came of their work
OUTCOME = "outcome"
_OF_AGENT = frozenset({DIGEST_TAG, OUTCOME, FIX_TAG})
# A rule that says how long it holds, in the languages in which naps find rules.
_LASTING = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|each time|whenever"
    r"|immer|nie(?:mals)?|ab (?:jetzt|sofort)|künftig|toujours|jamais|dorénavant|désormais"
    r"|chaque fois|siempre|nunca|a partir de ahora|cada vez|sempre|mai più|d'ora in (?:poi|avanti)"
    r"|a partir de agora|altijd|nooit|voortaan|vanaf nu)\b|всегда|никогда|впредь|以后|总是|不要再",
    re.IGNORECASE,
)
OPEN_POINTS_MAX = 3
_SESSIONS_MAX = 5  # whose open points are looked at
_RECENT_SESSIONS, _RECENT_US = 2, 28 * 86_400_000_000  # before the project's last memory
_TAKEN_SHARE = 0.6  # of a point's words in a later memory: it was taken up
_DONE_SHARE = 0.4  # of them in a sentence that says that something is done
_WORDS_MIN = 2  # of a point, without short ones: less cannot be found again
_PASSES = re.compile(
    r"^\W*(?:commit|push)(?::| (?:the|your|these|all|to|and)\b)|\buncommitted\b|\bgh pr\b"
    r"|\bready to (?:commit|push|deploy)\b|\bdon't block\b"
    r"|(?<!\bnot )\b(?:updated|removed|added|fixed|created|completed?)\W*$",
    re.IGNORECASE,
)
_SAYS_DONE = re.compile(
    r"(?<!\bnot )(?<!n't )(?<!\bnot yet )\b(?:fixed|solved|resolved|done|gone"
    r"|works (?:now|again)|erledigt|gefixt|behoben|réglé|résolu"
    r"|arreglado|resuelto|risolto|resolvido|opgelost)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"next steps?\b[:\s]*", re.IGNORECASE)
_HEAD = re.compile(r"\s[-\u2013\u2014]\s|:\s|\s\(|[.,]\s")
_NAME = re.compile(r"\w(?:[\w./-]*\w)?")


class OpenPoints(NamedTuple):
    """What a session left open, the digest that says so, and whether in the user's words."""

    digest: BriefRow
    texts: tuple[str, ...]
    by_user: bool


def rank_rows(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return *rows* without digests, the most valuable first.

    A row's value is its kind's, halved for every three later sessions of the project; what an
    agent did is told of the latest sessions alone. Commands do not age. Of rows of one session and
    kind, and of commands, the second counts two thirds of its value, the third half, and so on: a
    brief tells of several things.
    """
    ends = session_ends(rows)
    worths = [(_worth(row, ends), row) for row in rows if row.kind != DIGEST_TAG]
    worths = [each for each in worths if each[0]]
    worths.sort(key=lambda each: (each[0], _purpose_place(each[1]), each[1].at_us), reverse=True)
    alike: Counter[object] = Counter()
    ranked: list[tuple[float, BriefRow]] = []
    for value, row in worths:
        group = COMMANDS if row.purpose else (row.session_key, row.kind)
        alike[group] += 1
        ranked.append((value * 2 / (1 + alike[group]), row))
    ranked.sort(key=lambda each: (each[1].kind != OUTCOME, each[0]), reverse=True)
    return [row for _, row in ranked]


def session_ends(rows: Sequence[BriefRow]) -> dict[int, int]:
    """Return when the sessions ended of which *rows* tell, by their keys."""
    ends: dict[int, int] = {}
    for row in rows:
        if row.kind is not None and row.session_key is not None:
            ends[row.session_key] = max(row.at_us, ends.get(row.session_key, 0))
    return ends


def _worth(row: BriefRow, ends: Mapping[int, int]) -> float:
    at_us = ends.get(row.session_key or 0, row.at_us) if row.kind is not None else row.at_us
    later = 0 if row.purpose else sum(end_us > at_us for end_us in ends.values())
    if later >= OUTCOME_SESSIONS and row.kind in _OF_AGENT:
        return 0.0
    kind = EXPLICIT_WORTH if row.kind is None else KIND_WORTH.get(row.kind, 1.0)
    return float(kind * 0.5 ** (later / HALF_LIFE_SESSIONS))


def rank_rules(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return the rules among *rows*, which do not age, the latest first.

    So do facts that harm somebody if they are forgotten, and these come first. Then what a person
    stated comes before what a nap concluded, and of both what says how long it holds before the
    rest; of each session the first before the second: a session that was full of wishes leaves room
    for those of others.
    """
    rules = [row for row in rows if row.kind in RULE_KINDS or _harms(row)]
    rules.sort(key=lambda row: row.at_us, reverse=True)
    counts: Counter[tuple[int, int | None]] = Counter()
    places: list[tuple[int, int, BriefRow]] = []
    for row in rules:
        group = _rule_rank(row), row.session_key
        counts[group] += 1
        places.append((group[0], counts[group], row))
    return [row for *_, row in sorted(places, key=lambda each: each[:2])]


def _rule_rank(row: BriefRow) -> int:
    """Return where a rule stands among others, 0 for what harms somebody."""
    if _harms(row):
        return 0
    has_users_words = row.is_as_written and user_part(row.content) != row.content
    is_stated = row.origin == Origin.PERSON or has_users_words
    return 1 + 2 * (not is_stated) + (not _lasts(row))


def rank_elsewhere(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return *rows* of other projects: the rules as :func:`rank_rules` does, then the others."""
    rules = rank_rules(rows)
    return [*rules, *(row for row in rows if row not in rules)]


def drop_continued(superseded: Sequence[str], rows: Sequence[BriefRow]) -> list[str]:
    """Return the *superseded* texts without those that *rows* tell with more: they still hold.

    A session that goes on is distilled again, and a message is then told with what came of it.
    """
    current = {user_part(row.content) for row in rows}
    return [text for text in superseded if user_part(text) not in current]


def state_rule(text: str) -> str:
    """Return a rule's *text* without greetings, questions and tasks of the message it is of.

    >>> state_rule("Hi! Never edit below legacy/. Commits are in English. Can you fix the menu?")
    'Never edit below legacy/. Commits are in English.'
    """
    lines: list[str] = []
    for line in text.splitlines():
        parts = sentences(line)
        kept = [part for part in parts if _tells_rule(part)]
        lines += [line] if kept == parts else [" ".join(kept)] if kept else []
    return "\n".join(lines).strip() or text


def _tells_rule(sentence: str) -> bool:
    """Return whether *sentence* may be of a rule: a plain statement beside one often is."""
    # Its patterns take 150 ms to compile, and not every brief has a rule that long.
    from memd.sleep.distil.user.acts import WORTH, judge_sentence, states

    judged = judge_sentence(sentence)
    return states(judged) or judged.score >= WORTH or _LASTING.search(sentence) is not None


def _lasts(row: BriefRow) -> bool:
    return _LASTING.search(without_outcome(row.content)) is not None


def _harms(row: BriefRow) -> bool:
    return row.kind not in _OF_AGENT and HARMS.search(user_part(row.content)) is not None


def _purpose_place(row: BriefRow) -> int:
    """Return a number that is larger the earlier a command stands in PURPOSES; 0 for others."""
    return len(PURPOSES) - PURPOSES.index(row.purpose) if row.purpose in PURPOSES else 0


def find_open_points(digests: Sequence[BriefRow], rows: Sequence[BriefRow]) -> list[OpenPoints]:
    """Return what the *digests* of earlier sessions leave open, the latest first, each once.

    *rows* are the memories of the project's sessions, of which later ones may take a point up.
    At most OPEN_POINTS_MAX points, none of the sessions before the last two that is four weeks old:
    what nobody spoke of for so long is hardly open.
    """
    latest = sorted(digests, key=lambda row: row.at_us, reverse=True)[:_SESSIONS_MAX]
    since_us = max((row.at_us for row in rows), default=0) - _RECENT_US
    latest = [row for at, row in enumerate(latest) if at < _RECENT_SESSIONS or row.at_us > since_us]
    points: list[OpenPoints] = []
    known: list[frozenset[str]] = []
    for digest in latest:
        contents = [row.content for row in rows if _is_later(row, digest)]
        later = [content_stems(content) for content in contents]
        done = [
            content_stems(each)
            for each in chain.from_iterable(map(sentences, contents))
            if _SAYS_DONE.search(each)
        ]
        lines = [_names(line) for content in contents for line in content.splitlines()]
        texts: dict[bool, list[str]] = {True: [], False: []}
        for text, by_user in open_texts(digest.content):
            stems = content_stems(_LABEL.sub("", text))
            is_known = any(_covers(other, stems) for other in (*later, *known))
            is_known = is_known or _begins_in(text, lines)
            named = content_stems(text.partition(", ")[0])
            is_known = is_known or any(_covers(other, named, _DONE_SHARE) for other in done)
            if len(stems) >= _WORDS_MIN and not is_known and len(known) < OPEN_POINTS_MAX:
                known.append(stems)
                texts[by_user].append(text)
        points += [OpenPoints(digest, tuple(own), by_user) for by_user, own in texts.items() if own]
    return points


def open_texts(digest: str) -> list[tuple[str, bool]]:
    r"""Return the open points of a digest's text, and whether the user says so, theirs first.

    What passes with its session is none.

    >>> open_texts("Asked first: a page\nOpen: the user stopped the agent; test the import")
    [('test the import', False)]
    """
    fields = dict(line.split(": ", 1) for line in digest.split("\n") if ": " in line)
    return [
        (text, label == USER_OPEN_FIELD)
        for label in (USER_OPEN_FIELD, OPEN_FIELD)
        for text in fields.get(label, "").split("; ")
        if text and text != "the user stopped the agent" and not _PASSES.search(text)
    ]


def _is_later(row: BriefRow, digest: BriefRow) -> bool:
    return row.at_us > digest.at_us and row.session_key != digest.session_key


def _covers(later: frozenset[str], point: frozenset[str], share: float = _TAKEN_SHARE) -> bool:
    return len(later & point) >= max(_WORDS_MIN, share * len(point))


def _begins_in(text: str, lines: Sequence[frozenset[str]]) -> bool:
    """Return whether a line has all names with which *text* begins, one of them with a number.

    "/implement S5 - the form" is taken up by "S016 /implement S5", which has few of its words.
    """
    names = _names(_HEAD.split(text, maxsplit=1)[0])
    is_numbered = any(not name.isalpha() and any(map(str.isdigit, name)) for name in names)
    return len(names) > 1 and is_numbered and any(names <= line for line in lines)


def _names(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _NAME.findall(text)))
