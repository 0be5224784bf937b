"""Find memories of a project's earlier sessions that the user takes back in a later one. Pure.

Within a session, a phrase such as "no longer" and common words anywhere in both memories are enough
(``distil/select.py``). Across sessions they are not: reviews that list the same twenty rules, or
tasks that say "rather than", would replace each other. So one of these must hold:

- one short sentence has an unmistakable phrase, and most words of the earlier memory;
- the user denies the agent's statement ("No, we moved to canary releases"), and the earlier memory
  says the same as that statement;
- the user gives a named thing another place, gives it up for something else, or says that it is
  gone, and the earlier memory names it with all its words;
- the user ends a wish (``distil/user/ended_wishes.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memd.domain.sleep.consolidation import ANSWER_PART, user_part, without_outcome
from memd.sleep.distil.environment.places import moves, states_place
from memd.sleep.distil.environment.replacements import Withdrawal
from memd.sleep.distil.language.replies import NO_MORE, is_denial
from memd.sleep.distil.select import ALIKE
from memd.sleep.distil.user.ended_wishes import WishEnd
from memd.text.words import content_stems, content_words, sentences

_EARLIER_CHARS_MAX = 300  # of the user's part; a longer one is about several things
_SHARED_MIN = 2
_OF_EARLIER, _OF_SENTENCE = 0.6, 0.3
_OF_GIVEN_UP = 0.4  # the share of common words if the thing that is given up is named
_OTHERWISE_MIN = 3  # words that a denial needs, to say how it is instead
_BESIDE_MAX = 2  # words of a memory outside the clause that is denied
_REPORTS = re.compile(r"\W*(?:i\b|we(?:'ve| have)\b|done\b|\d+[.)]|\w+ed\b)", re.IGNORECASE)
_NEGATES = re.compile(r"\b(?:not?|never|none|nothing|without|cannot|\w+n't)\b", re.IGNORECASE)
_RULES = re.compile(r"\b(?:always|never|must|only|(?:do not|don't)(?= \w))\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,.:;!?]\s+")
_NO_MORE = re.compile(
    rf"\b(?:{NO_MORE}|n't \w+(?: \S+){{0,6}} any ?more|on second thoughts?"
    r"|(?:went|going|switch(?:ed)?) back to|doch wieder|abgeschafft|au lieu d\w*|ne \w+ plus"
    r"|en vez de)\b",
    re.IGNORECASE,
)


# An action that the user no longer wants: "stop asking me for each commit".
_STOPS = re.compile(
    r"\W*(?:(?:ok(?:ay)?|and|so|also|please|just|from now on)\W+)*"
    r"(?:stop|quit|no need to|(?:you )?(?:don't|do not) (?:have|need) to|you needn't)\s+"
    r"(?P<what>[^.,;:!?]{3,80})",
    re.IGNORECASE,
)
_OF_A_RULE = frozenset(
    ("never", "always", "without", "first", "before", "must", "please", "only", "again")
)
_ENDING = re.compile(r"(?:ing|ed|s)$")


def may_retract(text: str) -> bool:
    """Return whether the user may take something back in *text*: a test before the comparisons."""
    own = user_part(text)
    parts = sentences(own)
    withdrawal = Withdrawal.of(own)
    return (
        withdrawal.is_any
        or any(map(states_place, own.split("\n")))
        or any(map(_STOPS.match, parts))
        or WishEnd.of(own).may_end
        or _NO_MORE.search(own) is not None
        or bool(_denied_statement(text))
    )


def find_retracted(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of those *earlier* memories (key and text) that *text* takes back.

    >>> earlier = [(1, "Use Postgres for the event store."), (2, "The build takes a minute.")]
    >>> find_retracted("Actually, the event store is SQLite instead of Postgres.", earlier)
    [1]
    """
    own = user_part(text)
    whole = content_stems(own)
    parts = sentences(own)
    spoken = [content_stems(part) for part in parts if _NO_MORE.search(part)]
    stopped = [_action_words(stop["what"]) for part in parts if (stop := _STOPS.match(part))]
    end, withdrawal = WishEnd.of(own), Withdrawal.of(own)
    return [
        key
        for key, content in earlier
        if (spoken and _is_about(content, whole, spoken))
        or _is_given_up(content, withdrawal, whole)
        or withdrawal.is_choice_of(user_part(content))
        or (len(content) <= _EARLIER_CHARS_MAX and withdrawal.removes(without_outcome(content)))
        or _is_stopped(content, stopped)
        or end.ends(user_part(content))
    ]


def _is_stopped(content: str, stopped: Sequence[frozenset[str]]) -> bool:
    """Return whether a clause of *content* has only words of an action that is *stopped*."""
    clauses = _CLAUSE_END.split(user_part(content)) if stopped else ()
    wants = [_action_words(clause) for clause in clauses]
    return any(len(want) >= _SHARED_MIN and want <= action for want in wants for action in stopped)


def _action_words(text: str) -> frozenset[str]:
    """Return the content words of *text* without endings, so that "asking" equals "ask"."""
    words = (word for word in content_words(text) if word not in _OF_A_RULE)
    return frozenset(_ENDING.sub("", word) for word in words)


def _is_given_up(content: str, withdrawal: Withdrawal, whole: frozenset[str]) -> bool:
    """Return whether *withdrawal* is of the subject of *content*; *whole* are its text's stems."""
    before = user_part(content)
    words = content_stems(before)
    shared = len(words & whole)
    is_about = shared >= max(_SHARED_MIN, _OF_GIVEN_UP * len(words))
    return is_about and len(before) <= _EARLIER_CHARS_MAX and withdrawal.is_subject_of(before)


def find_denied(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    r"""Return the keys of those *earlier* memories that state what the user denies in *text*.

    >>> text = "User: No, we moved to canary releases.\nIn answer to: We deploy with blue-green."
    >>> find_denied(text, [(1, "Not rolling: we deploy with blue-green"), (2, "Deploy on Monday.")])
    [1]
    """
    denied = content_stems(_denied_statement(text))
    return [key for key, content in earlier if denied and _states(content, denied)]


def find_moved(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of those *earlier* memories that only give the old place of a thing.

    >>> find_moved("Grafana is on port 3001 now", [(1, "Grafana is on port 3000")])
    [1]
    """
    own = user_part(text)
    return [key for key, content in earlier if moves(own, user_part(content))]


def _denied_statement(text: str) -> str:
    """Return the agent's statement that the user denies in *text*, "" without one.

    Questions, reports of work and negative statements do not count: "no" may agree with them. Nor
    does a statement whose words the user repeats.
    """
    own, _, answered = without_outcome(text).partition(ANSWER_PART)
    words = content_stems(user_part(text))
    says_more = len(words) >= _OTHERWISE_MIN and not content_stems(answered) <= words
    is_denied = says_more and is_denial(own.removeprefix("User: "))
    is_statement = not ("?" in answered or _REPORTS.match(answered) or _NEGATES.search(answered))
    return answered if is_denied and is_statement else ""


def _states(content: str, denied: frozenset[str]) -> bool:
    """Return whether one clause of *content* states what is *denied*, with few other words.

    A rule ("never", "always") is not taken back by a denial.
    """
    own = user_part(content)
    if _RULES.search(own):
        return False
    clauses = [(clause, content_stems(clause)) for clause in _CLAUSE_END.split(own)]
    whole = frozenset().union(*(words for _, words in clauses))
    return any(
        len(words & denied) >= max(_SHARED_MIN, ALIKE * len(words | denied))
        and len(whole - words) <= _BESIDE_MAX
        and not _NEGATES.search(clause)
        for clause, words in clauses
    )


def _is_about(content: str, whole: frozenset[str], spoken: Sequence[frozenset[str]]) -> bool:
    """Return whether one of the *spoken* sentences has most words of *content*.

    Not if both memories are alike and say "no longer": then they take back the same third thing.
    """
    before = user_part(content)
    words = content_stems(before)
    is_alike = len(words & whole) > ALIKE * len(words | whole)
    if len(before) > _EARLIER_CHARS_MAX or (is_alike and _NO_MORE.search(before)):
        return False
    return any(
        len(words & stems) >= max(_SHARED_MIN, _OF_EARLIER * len(words), _OF_SENTENCE * len(stems))
        for stems in spoken
    )
