"""The concrete things of a session in one bullet: paths, symbols, numbers, names of errors.

The documents' rules keep what tools began to say and what was announced with a
keyword; on real coding sessions that is a third of the paths and names that the
rest of the session needs again. Their plain enumeration costs a twelfth of the
window and keeps most of the others. It is no rule of the documents, so it is
there only where it is asked for (``mention_share``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

MARK = "mentioned: "

_HALF_LIFE_MESSAGES = 40
LATEST_MESSAGES = 10 * _HALF_LIFE_MESSAGES  # what was said before weighs less than a thousandth
_SEPARATOR = ", "
_CALL = "()"

_MARGIN = re.compile(r"^[^\S\n]*\d+(?:→|\t|:)", re.MULTILINE)  # the line numbers of a listing
_WORD = re.compile(r"[\w~@./+-]{3,}\(?")
_THING_CHARS_MAX = 120
_THING = re.compile(
    r"""
      (?:~|\.{0,2})/[\w@.+-][\w@./+~-]*         # a path from a root, or a relative one
    | [\w@.+-]+(?:/[\w@.+-]+){2,}               # of two slashes
    | [\w@+-]+/(?=[\w@./+-]*\.)[\w@.+-]+        # of one, with an ending
    | [\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}   # a file, a host, a short attribute
    | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+           # dotted.name
    | [A-Za-z]\w*_\w+                           # snake_case, CONSTANT_CASE
    | [a-z][a-z0-9]*[A-Z]\w* | [A-Z][a-z0-9]+[A-Z]\w*   # camelCase, ValueError
    | [A-Za-z_][\w.]*\(                         # a call
    | [0-9]{3,}                                 # a number worth remembering
    | (?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}      # a hash
    """,
    re.VERBOSE,
)


def mentioned(texts: Sequence[str], known: str, room_chars: int) -> str:
    """Return the fact that enumerates the things of *texts*, or "" if there are none.

    *texts* are those of the messages in order, an earlier summary among them;
    what *known* says already is left out. Of more than *room_chars* hold, those
    stay that are said often, late and in few letters; of a very long session only
    the latest messages are looked at. The order is that of the
    alphabet, so that the same things always give the same fact.
    """
    texts = texts[-LATEST_MESSAGES:]
    weights: dict[str, float] = {}
    for index, text in enumerate(texts):
        late = 0.5 ** ((len(texts) - index) / _HALF_LIFE_MESSAGES)
        for thing, count in things(text).items():
            weights[thing] = weights.get(thing, 0.0) + count * late
    for thing in things(known):
        weights.pop(thing, None)
        weights.pop(thing.removesuffix(_CALL), None)
    left = room_chars - len(MARK)
    chosen = []
    for thing in sorted(weights, key=lambda thing: (-_worth(weights[thing], thing), thing)):
        left -= len(thing) + len(_SEPARATOR)
        if left < 0:
            break
        chosen.append(thing)
    return MARK + _SEPARATOR.join(sorted(chosen)) if chosen else ""


def things(text: str) -> Counter[str]:
    """Return the concrete things of *text* and how often each is said.

    >>> sorted(things("ValueError in src/app.py:4711, see parse(x) and so on."))
    ['4711', 'ValueError', 'parse()', 'src/app.py']
    """
    found: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(unnumbered(text))).items():
        thing = _thing(word)
        if thing:
            found[thing] += count
    return found


def unnumbered(text: str) -> str:
    """Return *text* without the numbers in the margin of a listing."""
    return _MARGIN.sub("", text)


@lru_cache(maxsize=16_384)  # a session says the same words again and again
def _thing(word: str) -> str:
    """Return the thing that *word* is, or "" for most words."""
    if word.isalpha() and word[1:].islower():  # seen at once
        return ""
    bare = word.strip("-+") if word.endswith("(") else word.strip("-+").rstrip(".")
    if len(bare) > _THING_CHARS_MAX or not _THING.fullmatch(bare):
        return ""
    return bare + ")" if bare.endswith("(") else bare


def enumerates(fact: str) -> bool:
    """Return whether *fact* is one of :func:`mentioned`, and no sentence that begins like it."""
    if not fact.startswith(MARK):
        return False
    return all(map(_is_thing, fact.removeprefix(MARK).split(_SEPARATOR)))


def _is_thing(listed: str) -> bool:
    """Return whether *listed* is a thing as :func:`things` finds it, and nothing else."""
    word = listed.removesuffix(")") if listed.endswith(_CALL) else listed
    return bool(_WORD.fullmatch(word)) and _thing(word) == listed


def _worth(weight: float, thing: str) -> float:
    """Return the weight for the room; the square root keeps one loud name from winning all."""
    return float(weight**0.5) / (len(thing) + 6)
