"""Find statements that are worth keeping for what stands around them (decision 0389). Pure.

A statement of a private chat is often as short as a remark. Three signs tell them apart, whatever
their words:

- The agent repeats it. Whoever notes something says it again: "washing machine never after 22:00"
  is answered with "No washing machine after 22:00", while the answer to a question has other words.
- It takes back what the user said before: "drop redis again" after "redis then". If it is not kept,
  the old choice stands.
- It adds to a memory of an earlier session: "bedroom is too warm, make it 16 at night" to "bedroom
  at night 17 degrees". Words in common find such messages, and a model compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memd.domain.sleep.consolidation import user_part
from memd.extract.acknowledgements import acknowledges
from memd.extract.passing import passing_kind
from memd.extract.passing_words import ASKS
from memd.ingest.withdrawals import may_withdraw
from memd.sleep.distil.environment.replacements import Withdrawal
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.user.speech_acts import Act, judge_sentence
from memd.text.words import content_stems, sentences

_CHARS_MAX = 200  # of the message and of the answer; longer ones are about several things
_SHARE = 0.5
_WORDS_MIN = 2  # fewer only if they are all: "No grapefruit."
_PREFIX_CHARS = 3  # of an abbreviation: "dec" for "December"
_SAYS_LITTLE = content_stems(
    "noted understood agreed updated set done ok okay got lovely good"
    " commit committed push pushed merge merged"  # reports of what was ordered now
)
_STATES_NOTHING = frozenset({Act.QUESTION, Act.APPROVAL})
# A report as often as a wish, which is kept for its own worth: "no more errors, thanks".
_NO_MORE = re.compile(r"\W*no more\b", re.IGNORECASE)
ADDS_COSINE = 0.37
"""The least cosine of a message with a memory that it adds to."""


class Addition(NamedTuple):
    """The user's words at a *place*, and the *keys* of the memories that they may add to."""

    place: int
    text: str
    keys: tuple[int, ...]


def find_confirmation(own: str, exchange: Exchange) -> str:
    """Return the agent's only text in *exchange* if it repeats *own*, the user's words, else "".

    After a call of a tool it reports what was ordered, which is nothing to remember.

    >>> from memd.sleep.distil.exchanges import AgentText
    >>> noted = Exchange(0, "", texts=[AgentText(1, "No coffee after 14:00 for a month.")])
    >>> find_confirmation("i stop coffee after 14:00", noted), find_confirmation("coffee?", noted)
    ('No coffee after 14:00 for a month.', '')
    """
    if exchange.runs or len(exchange.texts) != 1:
        return ""
    answer = exchange.texts[0].text
    if max(len(own), len(answer)) > _CHARS_MAX:
        return ""
    stems = frozenset[str]().union(*map(content_stems, filter(_states, sentences(own))))
    return answer if any(_repeats(each, stems) for each in sentences(answer)) else ""


def _states(sentence: str) -> bool:
    is_asking = ASKS.match(sentence) or judge_sentence(sentence).act in _STATES_NOTHING
    return not is_asking and passing_kind(sentence) is None


def _repeats(answer: str, stems: frozenset[str]) -> bool:
    """Return whether half of the words of *answer*, a sentence, begin as one of *stems*."""
    if answer.endswith("?") or acknowledges(answer):
        return False
    begins = tuple(stem for stem in stems if len(stem) >= _PREFIX_CHARS)
    own = content_stems(answer) - _SAYS_LITTLE
    shared = sum(stem in stems or stem.startswith(begins) for stem in own)
    return shared >= max(_SHARE * len(own), min(_WORDS_MIN, len(own)), 1)


def takes_back(own: str, earlier: Sequence[Exchange]) -> bool:
    """Return whether the user takes back a preference, or a choice of *earlier* exchanges.

    >>> takes_back("drop redis again, it lost jobs", [Exchange(0, "redis then")])
    True
    >>> takes_back("drop redis again, it lost jobs", []), takes_back("I like coriander now", [])
    (False, True)
    """
    withdrawal = Withdrawal.of(own)
    is_withdrawal = may_withdraw(own) and not _NO_MORE.match(own)
    return is_withdrawal or any(withdrawal.is_choice_of(each.user) for each in earlier)


def find_additions(
    messages: Iterable[tuple[int, str]], known: Iterable[tuple[int, str]]
) -> list[Addition]:
    """Return the short statements among *messages* that may add to a memory.

    *messages* are places and the user's words, *known* keys and texts of memories. A statement has
    two words in common with such a memory, and others that it has not.

    >>> find_additions([(4, "moved the server to port 80")], [(1, "the server has port 8")])
    [Addition(place=4, text='moved the server to port 80', keys=(1,))]
    """
    texts = [(key, text, text.casefold()) for key, text in known]
    additions: list[Addition] = []
    for place, own in messages:
        stems = content_stems(own) if len(own) <= _CHARS_MAX else frozenset[str]()
        keys = tuple(
            key
            for key, text, folded in texts
            # The stems of hundreds of texts take longer than to look for these few in them.
            if sum(stem in folded for stem in stems) >= _WORDS_MIN and _adds(stems, text)
        )
        if keys and any(map(_states, sentences(own))):
            additions.append(Addition(place, own, keys))
    return additions


def _adds(stems: frozenset[str], text: str) -> bool:
    """Return whether the user's words in *text* have two of *stems*, and not all."""
    known = content_stems(user_part(text))
    return len(stems & known) >= _WORDS_MIN and not stems <= known
