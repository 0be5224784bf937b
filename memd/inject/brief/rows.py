"""Rank a project's memories for a brief, and find the open points of earlier sessions. Pure.

Rules come first and do not age. The value of other memories halves every few sessions, and outcomes
come last. The last digest already has the open points of its session. A point of an earlier session
is shown until a later session mentions it, whose memories then say what was done, or finishes its
ticket or version. Points about committing and pushing are not shown: they end with their session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import (
    DIGEST_JOINT,
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
"""Initial value by kind, 1 for other kinds: lasting kinds count more."""
COMMANDS, PURPOSES = "commands", ("test", "check", "build", "run")
"""The group of all commands in the ranking, and the purposes of commands that come first."""
EXPLICIT_WORTH = 2.0
"""Initial value of a memory that was stored explicitly, not by a nap."""
HALF_LIFE_SESSIONS = 3.0
"""Later sessions after which a value is halved."""
OUTCOME_SESSIONS = 12
"""Latest sessions whose outcomes and fixes are shown."""
OUTCOME = "outcome"
_AGENT_KINDS = frozenset({DIGEST_TAG, OUTCOME, FIX_TAG})
# Words that say that a rule is lasting, in the languages in which naps find rules.
_LASTING = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|each time|whenever"
    r"|immer|nie(?:mals)?|ab (?:jetzt|sofort)|künftig|toujours|jamais|dorénavant|désormais"
    r"|chaque fois|siempre|nunca|a partir de ahora|cada vez|sempre|mai più|d'ora in (?:poi|avanti)"
    r"|a partir de agora|altijd|nooit|voortaan|vanaf nu)\b|всегда|никогда|впредь|以后|总是|不要再",
    re.IGNORECASE,
)
# "garage code is 5521#", "PIN der Karte: 4711": a note with a code and nothing else.
_ONLY_CODE = re.compile(
    r"\W*(?:[^\W\d]+\W+){0,5}?(?i:\w*(?<!post)code|pin|puk|combination|kombination|código|codice|codigo)"
    r"(?:\W+[^\W\d]+){0,4}\W+\d[\dA-Z#*]{3,11}\W*"
)
OPEN_POINTS_MAX = 3
_SESSIONS_MAX = 5
"""Latest sessions whose open points are considered."""
_RECENT_SESSIONS, _RECENT_US = 2, 28 * 86_400_000_000
"""Open points are of the last 2 sessions, or of the 28 days before the project's last memory."""
_MENTIONED_SHARE = 0.6
"""Share of a point's words in a later memory from which the point counts as mentioned."""
_DONE_SHARE = 0.4
"""The same share for a sentence that says that something is done."""
_STEMS_MIN = 2
"""Stems of a point: with fewer, a later mention cannot be recognised."""
# Points that end with their session: "commit the changes", "gh pr create", "README updated".
_TRANSIENT = re.compile(
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
# A ticket, or a version: "PAY-1482", "2.14.1". Two numbers may also be a decimal.
_IDENTIFIER = re.compile(r"\b[A-Z][A-Z0-9]+-\d+\b|\bv?\d+(?:\.\d+){2,}\b")
# Says that work was finished: "commit feat(PAY-1482)", "2.14.1 goes out today".
_FINISHES = re.compile(
    r"\b(?:commit(?:ted)?|merged?|released?|shipped|deployed|tagged|closed|live"
    r"|(?:goes|went|is|rolled) out|(?:feat|fix|chore|perf|refactor|docs|test|build|ci)\()",
    re.IGNORECASE,
)
_NOT_FINISHED = re.compile(
    r"\b(?:before|until|once|when|if|after|open|not|todo|tomorrow|next|waits?)\b", re.IGNORECASE
)
_LABEL = re.compile(r"next steps?\b[:\s]*", re.IGNORECASE)
_HEAD_END = re.compile(r"\s[-\u2013\u2014]\s|:\s|\s\(|[.,]\s")  # after "/implement S5" in "... - x"
_NAME = re.compile(r"\w(?:[\w./-]*\w)?")


class OpenPoints(NamedTuple):
    """The open points in a digest: *by_user* if the user stated them, else the agent."""

    digest: BriefRow
    texts: tuple[str, ...]
    by_user: bool


def rank_rows(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return *rows* without digests and mere codes, the most valuable first, outcomes last.

    A row's value is that of its kind, halved every HALF_LIFE_SESSIONS later sessions of the
    project; commands do not age. Outcomes and fixes are only of the last OUTCOME_SESSIONS sessions.
    A note that only holds a code of a door or a card is of no use unless it is asked for.
    For variety, the n-th row of a session and kind, and the n-th command, counts 2/(n+1) of its
    value.
    """
    ends = session_ends(rows)
    valued = [(_worth(row, ends), row) for row in rows if row.kind != DIGEST_TAG]
    valued = [(worth, row) for worth, row in valued if worth]
    valued.sort(key=lambda pair: (pair[0], _purpose_rank(pair[1]), pair[1].at_us), reverse=True)
    counts: Counter[object] = Counter()
    ranked: list[tuple[float, BriefRow]] = []
    for worth, row in valued:
        group = COMMANDS if row.purpose else (row.session_key, row.kind)
        counts[group] += 1
        ranked.append((worth * 2 / (1 + counts[group]), row))
    ranked.sort(key=lambda pair: (pair[1].kind != OUTCOME, pair[0]), reverse=True)
    return [row for _, row in ranked]


def session_ends(rows: Sequence[BriefRow]) -> dict[int, int]:
    """Return the time of the last memory that a nap made of each session, by session key."""
    ends: dict[int, int] = {}
    for row in rows:
        if row.kind is not None and row.session_key is not None:
            ends[row.session_key] = max(row.at_us, ends.get(row.session_key, 0))
    return ends


def _worth(row: BriefRow, ends: Mapping[int, int]) -> float:
    at_us = ends.get(row.session_key or 0, row.at_us) if row.kind is not None else row.at_us
    later = 0 if row.purpose else sum(end_us > at_us for end_us in ends.values())
    is_code = row.kind is None and _ONLY_CODE.fullmatch(row.content) is not None
    if is_code or (later >= OUTCOME_SESSIONS and row.kind in _AGENT_KINDS):
        return 0.0
    kind = EXPLICIT_WORTH if row.kind is None else KIND_WORTH.get(row.kind, 1.0)
    return float(kind * 0.5 ** (later / HALF_LIFE_SESSIONS))


def rank_rules(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return the rules among *rows*, and the memories about harm, in the order for a brief.

    Memories about harm come first, then rules that a person stated, then rules that a nap
    concluded; of both, lasting ones ("always") come first. Within each of these groups, the latest
    rule of every session precedes the second latest of any, so that no session fills the brief.
    """
    rules = [row for row in rows if row.kind in RULE_KINDS or _is_about_harm(row)]
    rules.sort(key=lambda row: row.at_us, reverse=True)
    counts: Counter[tuple[int, int | None]] = Counter()
    ranked: list[tuple[int, int, BriefRow]] = []
    for row in rules:
        group = _rule_rank(row), row.session_key
        counts[group] += 1
        ranked.append((group[0], counts[group], row))
    return [row for *_, row in sorted(ranked, key=lambda entry: entry[:2])]


def _rule_rank(row: BriefRow) -> int:
    """Return the rank of a rule among others: 0 for harm, 1 or 2 if stated, 3 or 4 if concluded."""
    if _is_about_harm(row):
        return 0
    has_users_words = row.is_as_written and user_part(row.content) != row.content
    is_stated = row.origin == Origin.PERSON or has_users_words
    return 1 + 2 * (not is_stated) + (not _is_lasting(row))


def rank_elsewhere(rows: Sequence[BriefRow]) -> list[BriefRow]:
    """Return *rows* of other projects: rules as ordered by :func:`rank_rules`, then the others."""
    rules = rank_rules(rows)
    return [*rules, *(row for row in rows if row not in rules)]


def drop_continued(superseded: Sequence[str], rows: Sequence[BriefRow]) -> list[str]:
    """Return the *superseded* texts without those that *rows* repeat, since these still hold.

    When a session continues, it is distilled again. A message then occurs with its outcome, and
    supersedes the memory without it.
    """
    current = {user_part(row.content) for row in rows}
    return [text for text in superseded if user_part(text) not in current]


def state_rule(text: str) -> str:
    """Return a rule's *text* without greetings, questions and tasks in the same message.

    >>> state_rule("Hi! Never edit below legacy/. Commits are in English. Can you fix the menu?")
    'Never edit below legacy/. Commits are in English.'
    """
    lines: list[str] = []
    for line in text.splitlines():
        parts = sentences(line)
        rules = [part for part in parts if _may_be_rule(part)]
        if rules:
            lines.append(line if rules == parts else " ".join(rules))
    return "\n".join(lines).strip() or text


def _may_be_rule(sentence: str) -> bool:
    """Return whether *sentence* may belong to a rule, like any statement in its message."""
    # Imported here: its patterns take 150 ms to compile, and few briefs have a long rule.
    from memd.sleep.distil.user.speech_acts import WORTH, judge_sentence, states

    judgement = judge_sentence(sentence)
    return states(judgement) or judgement.score >= WORTH or _LASTING.search(sentence) is not None


def _is_lasting(row: BriefRow) -> bool:
    return _LASTING.search(without_outcome(row.content)) is not None


def _is_about_harm(row: BriefRow) -> bool:
    return row.kind not in _AGENT_KINDS and HARMS.search(user_part(row.content)) is not None


def _purpose_rank(row: BriefRow) -> int:
    """Return 4 for the first of PURPOSES to 1 for the last, 0 for other rows."""
    return len(PURPOSES) - PURPOSES.index(row.purpose) if row.purpose in PURPOSES else 0


def find_open_points(digests: Sequence[BriefRow], rows: Sequence[BriefRow]) -> list[OpenPoints]:
    """Return the open points of the *digests* of earlier sessions, the latest first, each once.

    *rows* are the memories of the project; a point that a later one mentions is left out. At most
    OPEN_POINTS_MAX points are returned. Points of sessions before the last two are only returned if
    they are less than four weeks old.
    """
    latest = sorted(digests, key=lambda row: row.at_us, reverse=True)[:_SESSIONS_MAX]
    since_us = max((row.at_us for row in rows), default=0) - _RECENT_US
    latest = [row for at, row in enumerate(latest) if at < _RECENT_SESSIONS or row.at_us > since_us]
    points: list[OpenPoints] = []
    known: list[frozenset[str]] = []  # the stems of the points so far
    for digest in latest:
        contents = [row.content for row in rows if _is_later(row, digest)]
        later = [content_stems(content) for content in contents]
        later_sentences = list(chain.from_iterable(map(_split_requests, contents)))
        finished = _list_finished(later_sentences)
        done = [content_stems(part) for part in later_sentences if _SAYS_DONE.search(part)]
        lines = [_names(line) for content in contents for line in content.splitlines()]
        texts: dict[bool, list[str]] = {True: [], False: []}
        for text, by_user in open_texts(digest.content):
            stems = content_stems(_LABEL.sub("", text))
            first_part = content_stems(text.partition(", ")[0])
            is_known = (
                any(_covers(other, stems) for other in (*later, *known))
                or _begins_in(text, lines)
                or any(_covers(other, first_part, _DONE_SHARE) for other in done)
                or not finished.isdisjoint(_IDENTIFIER.findall(text))
            )
            if len(stems) >= _STEMS_MIN and not is_known and len(known) < OPEN_POINTS_MAX:
                known.append(stems)
                texts[by_user].append(text)
        points += [
            OpenPoints(digest, tuple(group), by_user) for by_user, group in texts.items() if group
        ]
    return points


def _split_requests(content: str) -> list[str]:
    """Return the sentences of a memory; of a digest, each request begins one."""
    return sentences(content.replace(DIGEST_JOINT, "\n"))


def _list_finished(parts: Iterable[str]) -> frozenset[str]:
    """Return the tickets and versions that one of the sentences *parts* says to be finished.

    >>> sorted(_list_finished(["commit feat(PAY-9), then lunch", "PAY-8 goes live next week"]))
    ['PAY-9']
    """
    return frozenset(
        name
        for part in parts
        if _FINISHES.search(part) and not _NOT_FINISHED.search(part)
        for name in _IDENTIFIER.findall(part)
    )


def open_texts(digest: str) -> list[tuple[str, bool]]:
    r"""Return the open points in a digest, and whether the user stated them, the user's first.

    Points that end with their session are left out.

    >>> open_texts("Asked first: a page\nOpen: the user stopped the agent; test the import")
    [('test the import', False)]
    """
    fields = dict(line.split(": ", 1) for line in digest.split("\n") if ": " in line)
    return [
        (text, label == USER_OPEN_FIELD)
        for label in (USER_OPEN_FIELD, OPEN_FIELD)
        for text in fields.get(label, "").split("; ")
        if text and text != "the user stopped the agent" and not _TRANSIENT.search(text)
    ]


def _is_later(row: BriefRow, digest: BriefRow) -> bool:
    return row.at_us > digest.at_us and row.session_key != digest.session_key


def _covers(later: frozenset[str], point: frozenset[str], share: float = _MENTIONED_SHARE) -> bool:
    """Return whether *later* has *share* of the stems of *point*, and at least _STEMS_MIN."""
    return len(later & point) >= max(_STEMS_MIN, share * len(point))


def _begins_in(text: str, lines: Sequence[frozenset[str]]) -> bool:
    """Return whether a line has all names at the beginning of *text*, one of them with a number.

    "S016 /implement S5" mentions "/implement S5 - the form", although it has few of its words.
    """
    names = _names(_HEAD_END.split(text, maxsplit=1)[0])
    is_numbered = any(not name.isalpha() and any(map(str.isdigit, name)) for name in names)
    return len(names) > 1 and is_numbered and any(names <= line for line in lines)


def _names(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _NAME.findall(text)))
