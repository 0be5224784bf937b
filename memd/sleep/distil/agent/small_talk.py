"""Drop small talk at the end of a session, so that it is not taken for its outcome. Pure.

After an hour of work a user may ask for the time in Tokyo and leave. Such exchanges share next to
no word with the work before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memd.domain.enums import Passing
from memd.extract.passing import passing_kind
from memd.sleep.distil.agent.calls import command, edited_path
from memd.sleep.distil.exchanges import Exchange, NapMemory
from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.speech_acts import Act, judge
from memd.text.languages import PROSE_WORDS
from memd.text.words import content_stems, sentences

_STEM_CHARS = 4  # shorter ones, such as "run" and "10", are in any two texts
_SHARE = 0.25  # of small talk's words that may occur in the work before
_CHARS_MAX = 600  # of a message and of its answer; longer ones are about the work
_CONTINUES = re.compile(
    r"\W*(?:no|nope|not|never|wrong|yes|and|but|or|so|because|which|whose)\b",
    re.IGNORECASE,
)
"""The beginning of a message that continues, denies or asks about the one before."""
_ORDERS = frozenset({Act.REQUEST, Act.TASK})


def without_small_talk(
    exchanges: Sequence[Exchange], memories: Iterable[NapMemory] = ()
) -> Sequence[Exchange]:
    """Return *exchanges* without the small talk at their end.

    A session without tool calls is returned whole. Exchanges that *memories* are made of stay.
    """
    remembered = {place for memory in memories for place in memory.places}
    worked = max((at for at, each in enumerate(exchanges) if each.runs), default=len(exchanges))
    last = len(exchanges)
    while last > worked + 1 and exchanges[last - 1].place not in remembered:
        if not _is_apart(exchanges[last - 1], exchanges[: last - 1]):
            break
        last -= 1
    return exchanges[:last]


def _is_short(exchange: Exchange) -> bool:
    answer = sum(len(each.text) for each in exchange.texts)
    return max(len(exchange.user), answer) <= _CHARS_MAX


def _is_apart(exchange: Exchange, before: Sequence[Exchange]) -> bool:
    """Return whether *exchange* is small talk: short, no request, hardly a word of those *before*.

    If the agent answered, only a question counts. One without content words ("why is that?") is
    about the exchange before.
    """
    own = " ".join(words(exchange.user).paragraphs)
    if not own or _CONTINUES.match(own) or not _is_short(exchange):
        return False
    stems = _stems((own, *(each.text for each in exchange.texts)))
    if any(judge(each).act in _ORDERS for each in sentences(own)):
        return False
    if exchange.texts and not (passing_kind(own) is Passing.QUESTION and _stems([own])):
        return False
    known = {stem for text in _texts(before) if stems for stem in _find_stems(stems, text)}
    return len(known) <= _SHARE * len(stems)


def _stems(texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the content words of *texts* that are long enough to be specific."""
    stems = frozenset().union(*map(content_stems, texts))
    return frozenset(stem for stem in stems - PROSE_WORDS if len(stem) >= _STEM_CHARS)


def _find_stems(stems: frozenset[str], text: str) -> set[str]:
    """Return those of *stems* with which a word of *text* begins."""
    any_stem = "|".join(map(re.escape, sorted(stems)))
    return set(re.findall(rf"(?<![^\W_])(?:{any_stem})", text.casefold()))


def _texts(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield the messages of *exchanges*, and the commands and paths of their tool calls."""
    for exchange in exchanges:
        yield exchange.user
        yield from (each.text for each in exchange.texts)
        for run in exchange.runs:
            called = command(run)
            yield called.line if called else edited_path(run)
