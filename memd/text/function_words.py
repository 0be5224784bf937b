"""English function words, which carry no meaning of their own, and a text's other words. Pure."""

from __future__ import annotations

import re

FUNCTION_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing done down during each few for from further get got had has
    have having he her here hers herself him himself his how i if in into is it its itself just ll
    let me more most my myself no nor not now of off on once only or other our ours ourselves out
    over own re s same she should so some such t than that the their theirs them themselves then
    there these they this those through to too under until up us ve very was we were what when
    where which while who whom whose why will with would you your yours yourself yourselves d m
    """.split()  # noqa: SIM905  # a list of 150 strings would fill two screens
)

_WORD = re.compile(r"[^\W_]+")


def content_words(text: str) -> list[str]:
    """Return the content words of *text*, folded, each once; all words where there are none.

    >>> content_words("How do we deploy to production?")
    ['deploy', 'production']
    """
    words = dict.fromkeys(match.group().casefold() for match in _WORD.finditer(text))
    return [word for word in words if word not in FUNCTION_WORDS] or list(words)


_PUNCTUATION = "!.,?;:\"'()"


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words, in lower case, without punctuation at their ends (SPEC 5.6).

    >>> sorted(words_of('Use Python 3.11, "please"!'))
    ['3.11', 'please', 'python', 'use']
    """
    return frozenset(filter(None, (word.strip(_PUNCTUATION) for word in text.lower().split())))
