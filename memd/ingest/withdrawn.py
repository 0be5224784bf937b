"""Which preference a later sentence of its owner takes back (docs/decisions/0325). Pure.

It must say that it is otherwise now ("any more", "no longer", "instead of"), be the whole text, and
name the very words of a preference that is one plain sentence: without a condition, a negation or a
pointing word on either side. What only sounds like it leaves a preference where it is: one that is
told twice is noticed, one that is gone is not.
"""

from __future__ import annotations

import re

from memd.text.preference import POINTING, is_of_project, strip_articles
from memd.text.words import sentences

_CHARS_MAX = 160
_SO = r"(?:(?:well|so|and|also|no|ok(?:ay)?|btw|sorry),? )*"
_I = rf"{_SO}(?:actually,? )?i (?:(?:really|just|always) )?"
_NOW_I = rf"{_SO}(?:actually,? i|i (?:now|actually)) "
_WHAT = r"(?P<what>[\w+#./' -]{2,60}?)"
_WANTS = r"(?:prefer|want|use|like|love|drink|eat)"
_HATE = r"(?:hate|dislike|can't stand)"
_NO_MORE = r" (?:any ?more|any longer)"
_BEGINS = re.compile(rf"{_SO}(?:actually,? )?i ")
"""How all that takes something back begins."""
_WANTED = re.compile(rf"{_I}{_WANTS} {_WHAT}[.!]*")
_HATED = re.compile(rf"{_I}{_HATE} {_WHAT}[.!]*")
_UNWANTED = (
    re.compile(rf"{_I}(?:do not|don't) {_WANTS} {_WHAT}{_NO_MORE}[.!]*"),
    re.compile(rf"{_I}no longer {_WANTS} {_WHAT}[.!]*"),
    re.compile(rf"{_I}{_HATE} {_WHAT} now[.!]*"),
    re.compile(rf"{_NOW_I}{_HATE} {_WHAT}[.!]*"),
)
_LIKED = (
    re.compile(rf"{_I}(?:do not|don't) {_HATE} {_WHAT}{_NO_MORE}[.!]*"),
    re.compile(rf"{_I}no longer {_HATE} {_WHAT}[.!]*"),
    re.compile(rf"{_I}(?:actually |now )?(?:like|love) {_WHAT} now[.!]*"),
    re.compile(rf"{_NOW_I}(?:like|love) {_WHAT}(?: now)?[.!]*"),
)
_INSTEAD = re.compile(
    rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?) (?:over|rather than|instead of)"
    rf" {_WHAT}(?: now)?[.!]*"
)
# "I prefer full sentences now, no bullet points any more": of what is not wanted at all no kind is.
_NO_MORE_OF = re.compile(
    rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?)(?: now)?,? (?:(?:and|so) )?"
    rf"(?:no {_WHAT}{_NO_MORE}|no (?:more|longer) (?P<more>[\w+#./' -]{{2,60}}?))[.!]*"
)
_QUALIFIED = re.compile(
    r"\b(?:no|not|never|without|before|after|for|when|if|in|on|at|during|with|while|because|since"
    r"|over|than|instead|here|except|only|now|more|longer)\b"
)


def may_take_back(text: str) -> bool:
    """Return whether *text* may take a preference of its owner back."""
    plain = _plain(text)
    is_of_owner = _BEGINS.match(plain) is not None
    return is_of_owner and bool(_list_withdrawn(plain) or _unwanted_words(plain))


def takes_back(text: str, value: str) -> bool:
    """Return whether *text* takes the preference *value* back.

    >>> takes_back("I now prefer imperial units instead of metric.", "I prefer metric units")
    True
    >>> takes_back("I actually love cilantro now", "I hate cilantro")
    True
    >>> takes_back("I don't want short answers any more", "I prefer short answers to mails")
    False
    """
    plain, now = _plain(value), _plain(text)
    for pattern, is_wanted in ((_WANTED, True), (_HATED, False)):
        if match := pattern.fullmatch(plain):
            words = _words(match["what"])
            return words is not None and (
                (is_wanted, words) in _list_withdrawn(now)
                or (is_wanted and _is_kind_of(words, _unwanted_words(now)))
            )
    return False


def _is_kind_of(words: tuple[str, ...], unwanted: tuple[str, ...]) -> bool:
    """Return whether *words* are those *unwanted*, or begin with more: "short bullet points"."""
    return bool(unwanted) and words[-len(unwanted) :] == unwanted


def _unwanted_words(plain: str) -> tuple[str, ...]:
    """Return the words of what a text wants no more of any kind, beside what it prefers."""
    match = _NO_MORE_OF.fullmatch(plain)
    if match is None or _words(match["one"]) is None:
        return ()
    return _words(match["what"] or match["more"]) or ()


def _list_withdrawn(plain: str) -> list[tuple[bool, tuple[str, ...]]]:
    """Return what no longer holds when a text is said: whether it was wanted, and its words."""
    if over := _INSTEAD.fullmatch(plain):
        one, what = _words(over["one"]), _words(over["what"])
        if one is None or what is None:
            return []
        # "imperial units instead of metric": the noun that both share is often said once.
        return [(True, what), (True, (*what, one[-1]))]
    wishes = [
        (is_wanted, _words(match["what"]))
        for patterns, is_wanted in ((_UNWANTED, True), (_LIKED, False))
        for pattern in patterns
        if (match := pattern.fullmatch(plain))
    ]
    return [(is_wanted, words) for is_wanted, words in wishes if words is not None]


def _plain(text: str) -> str:
    """Return a text that is one short sentence in lower case, "" for any other."""
    if len(text) > _CHARS_MAX or len(sentences(text)) != 1 or is_of_project(text):
        return ""
    return " ".join(text.lower().replace("\u2019", "'").split())


def _words(what: str) -> tuple[str, ...] | None:
    """Return the words of what is wanted, without articles; None where it is not plain."""
    if _QUALIFIED.search(what) or POINTING.search(" ".join(strip_articles(what).split())):
        return None
    return tuple(strip_articles(what).split()) or None
