"""How the end of a session that is not about its work is told from one that is. Pure.

Who has worked for an hour asks for the time in Tokyo, says that the train leaves, and goes. Nothing
of it is how the session ended: it has no word of what was said and done before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memd.domain.enums import Passing
from memd.extract.passing import passing_kind
from memd.sleep.distil.agent.calls import command, edited_path
from memd.sleep.distil.exchanges import Exchange, NapMemory
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.acts import Act, judge
from memd.text.languages import PROSE_WORDS
from memd.text.words import content_stems, sentences

_STEM_CHARS = 4  # "run" and "10" are in any two texts
_SHARE = 0.25  # of its words in what was before, from which an exchange is about the work
_CHARS_MAX = 600  # of a message and of its answer: who writes more is at work
_GOES_ON = re.compile(
    r"\W*(?:no|nope|not|never|wrong|yes|and|but|or|so|because|which|whose)\b",
    re.IGNORECASE,
)
"""How a sentence begins that goes on with what was said before it, denies it or asks about it."""
_ORDERS = frozenset({Act.REQUEST, Act.TASK})


def without_small_talk(
    exchanges: Sequence[Exchange], memories: Iterable[NapMemory] = ()
) -> Sequence[Exchange]:
    """Return *exchanges* without those at the end that have nothing to do with the work before.

    Where no tool was called everything is talk, and stays. So does what *memories* are made of.
    """
    kept = {place for memory in memories for place in memory.places}
    worked = max((at for at, each in enumerate(exchanges) if each.runs), default=len(exchanges))
    last = len(exchanges)
    while last > worked + 1 and exchanges[last - 1].place not in kept:
        if not _is_apart(exchanges[last - 1], exchanges[: last - 1]):
            break
        last -= 1
    return exchanges[:last]


def _is_short(exchange: Exchange) -> bool:
    answer = sum(len(each.text) for each in exchange.texts)
    return max(len(exchange.user), answer) <= _CHARS_MAX


def _is_apart(exchange: Exchange, before: Sequence[Exchange]) -> bool:
    """Return whether next to no word of *exchange* was said before, and nothing is left to be done.

    Of what was answered only questions are. A question without a word of its own ("why is that?")
    is about what was before.
    """
    own = " ".join(words(exchange.user).paragraphs)
    if not own or _GOES_ON.match(own) or not _is_short(exchange):
        return False
    stems = _stems((own, *(each.text for each in exchange.texts)))
    if any(judge(each).act in _ORDERS for each in sentences(own)):
        return False
    if exchange.texts and not (passing_kind(own) is Passing.QUESTION and _stems([own])):
        return False
    known = {stem for text in _said_before(before) if stems for stem in _find_stems(stems, text)}
    return len(known) <= _SHARE * len(stems)


def _stems(texts: Iterable[str]) -> frozenset[str]:
    stems = frozenset().union(*map(content_stems, texts))
    return frozenset(each for each in stems - PROSE_WORDS if len(each) >= _STEM_CHARS)


def _find_stems(stems: frozenset[str], text: str) -> set[str]:
    any_stem = "|".join(map(re.escape, sorted(stems)))
    return set(re.findall(rf"(?<![^\W_])(?:{any_stem})", text.casefold()))


def _said_before(exchanges: Sequence[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        yield exchange.user
        yield from (each.text for each in exchange.texts)
        for run in exchange.runs:
            called = command(run)
            yield called.line if called else edited_path(run)
