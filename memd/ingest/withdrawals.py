"""Detect that a sentence of the owner takes back an earlier preference (decision 0325).

The sentence must be the whole text, say that something has changed ("any more", "no longer",
"instead of"), and contain exactly the words of the preference. Both must be one plain sentence
without a condition, a negation or a pronoun. In doubt the preference is kept: users notice one that
no longer holds, but not one that is missing.
"""

from __future__ import annotations

import re

from memd.text.preference import POINTING, is_of_project, strip_articles
from memd.text.words import sentences

# All patterns match a whole text in lower case.
_CHARS_MAX = 160
_SO = r"(?:(?:well|so|and|also|no|ok(?:ay)?|btw|sorry),? )*"
_I = rf"{_SO}(?:actually,? )?i (?:(?:really|just|always) )?"
_NOW_I = rf"{_SO}(?:actually,? i|i (?:now|actually)) "
_WHAT = r"(?P<what>[\w+#./' -]{2,60}?)"  # the thing that is liked or disliked
_WANTS = r"(?:prefer|want|use|like|love|drink|eat)"
_HATE = r"(?:hate|dislike|can't stand)"
_NO_MORE = r" (?:any ?more|any longer)"
_BEGINS = re.compile(rf"{_SO}(?:actually,? )?i ")
"""The beginning of every text that takes something back; a cheap test."""
# Preferences: "i prefer tabs", "i hate cilantro".
_WANTED = re.compile(rf"{_I}{_WANTS} {_WHAT}[.!]*")
_HATED = re.compile(rf"{_I}{_HATE} {_WHAT}[.!]*")
# "i don't use vim any more", "i no longer use vim", "i actually hate cilantro".
_UNWANTED = (
    re.compile(rf"{_I}(?:do not|don't) {_WANTS} {_WHAT}{_NO_MORE}[.!]*"),
    re.compile(rf"{_I}no longer {_WANTS} {_WHAT}[.!]*"),
    re.compile(rf"{_I}{_HATE} {_WHAT} now[.!]*"),
    re.compile(rf"{_NOW_I}{_HATE} {_WHAT}[.!]*"),
)
# "i don't hate cilantro any more", "i actually love cilantro now".
_LIKED = (
    re.compile(rf"{_I}(?:do not|don't) {_HATE} {_WHAT}{_NO_MORE}[.!]*"),
    re.compile(rf"{_I}no longer {_HATE} {_WHAT}[.!]*"),
    re.compile(rf"{_I}(?:actually |now )?(?:like|love) {_WHAT} now[.!]*"),
    re.compile(rf"{_NOW_I}(?:like|love) {_WHAT}(?: now)?[.!]*"),
)
# "i now prefer imperial units instead of metric".
_INSTEAD = re.compile(
    rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?) (?:over|rather than|instead of)"
    rf" {_WHAT}(?: now)?[.!]*"
)
# "i prefer full sentences now, no bullet points any more" also withdraws "short bullet points".
_NO_MORE_OF = re.compile(
    rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?)(?: now)?,? (?:(?:and|so) )?"
    rf"(?:no {_WHAT}{_NO_MORE}|no (?:more|longer) (?P<more>[\w+#./' -]{{2,60}}?))[.!]*"
)
# Words of a condition, a negation or a comparison, with which a thing is not plain.
_QUALIFIED = re.compile(
    r"\b(?:no|not|never|without|before|after|for|when|if|in|on|at|during|with|while|because|since"
    r"|over|than|instead|here|except|only|now|more|longer)\b"
)


def may_withdraw(text: str) -> bool:
    """Return whether *text* may take back a preference of its owner."""
    plain = _plain(text)
    if _BEGINS.match(plain) is None:
        return False
    return bool(_list_withdrawn(plain) or _unwanted_words(plain))


def withdraws(text: str, value: str) -> bool:
    """Return whether *text* takes back the preference *value*.

    >>> withdraws("I now prefer imperial units instead of metric.", "I prefer metric units")
    True
    >>> withdraws("I actually love cilantro now", "I hate cilantro")
    True
    >>> withdraws("I don't want short answers any more", "I prefer short answers to mails")
    False
    """
    preference, sentence = _plain(value), _plain(text)
    for pattern, is_wanted in ((_WANTED, True), (_HATED, False)):
        if match := pattern.fullmatch(preference):
            words = _words(match["what"])
            return words is not None and (
                (is_wanted, words) in _list_withdrawn(sentence)
                or (is_wanted and _is_kind_of(words, _unwanted_words(sentence)))
            )
    return False


def _is_kind_of(words: tuple[str, ...], unwanted: tuple[str, ...]) -> bool:
    """Return whether *words* end with *unwanted*, as "short bullet points" with "bullet points"."""
    return bool(unwanted) and words[-len(unwanted) :] == unwanted


def _unwanted_words(plain: str) -> tuple[str, ...]:
    """Return the words of the thing of which a text wants no kind any more; () for none."""
    match = _NO_MORE_OF.fullmatch(plain)
    if match is None or _words(match["one"]) is None:
        return ()
    return _words(match["what"] or match["more"]) or ()


def _list_withdrawn(plain: str) -> list[tuple[bool, tuple[str, ...]]]:
    """Return the things that *plain* withdraws: whether each was wanted or hated, and its words."""
    if match := _INSTEAD.fullmatch(plain):
        new, old = _words(match["one"]), _words(match["what"])
        if new is None or old is None:
            return []
        # In "imperial units instead of metric", the old thing is "metric" or "metric units".
        return [(True, old), (True, (*old, new[-1]))]
    things = [
        (is_wanted, _words(match["what"]))
        for patterns, is_wanted in ((_UNWANTED, True), (_LIKED, False))
        for pattern in patterns
        if (match := pattern.fullmatch(plain))
    ]
    return [(is_wanted, words) for is_wanted, words in things if words is not None]


def _plain(text: str) -> str:
    """Return *text* in lower case if it is one short sentence, else ""."""
    if len(text) > _CHARS_MAX or len(sentences(text)) != 1 or is_of_project(text):
        return ""
    return " ".join(text.lower().replace("\u2019", "'").split())


def _words(what: str) -> tuple[str, ...] | None:
    """Return the words of *what*, without articles; None if it has a condition or a pronoun."""
    if _QUALIFIED.search(what) or POINTING.search(" ".join(strip_articles(what).split())):
        return None
    return tuple(strip_articles(what).split()) or None
