"""Find the agent's turns that the user's next message forbids. Pure.

"Use a tunnel" must not be recalled alone after "hold on, the company doesn't allow tunnels". The
message must name who or what forbids it, or say that "we" may not, and share a word with the turn.
That something cannot be used yet, or that a program refuses something, forbids nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memd.text.words import content_stems, sentences

_TURN_CHARS_MAX = 400  # a longer turn also says other things
_SENTENCES_MAX = 2  # at the beginning of a message, where it answers the turn
_BY = (
    r"\b(?:company|employer|polic(?:y|ies)|security|legal|compliance|boss|clients?|customers?|admins?"
    r"|licen[cs]e|contract|management|school|university|bank|firma|arbeitgeber|kunden?|chef\w*"
    r"|datenschutz|richtlinien?|verträge?)(?: (?:policy|team|rules?|department|here))?"
)
_NOT = r"(?: not|n['\u2019]?t)"
_USE = r"(?:use|install|send|share|upload|expose|store|publish|depend on|verwenden|nutzen)"
_FORBIDS = re.compile(
    rf"{_BY} (?:(?:do|does|wo|would|will){_NOT} (?:allow|permit|let us)"
    r"|forbids?|prohibits?|bans?|banned|verbiete[nt]|untersag(?:t|en)"
    r"|erlaub(?:t|en) (?:\w+ ){0,2}(?:nicht|kein\w*))\b"
    rf"|\bwe(?:['\u2019]?re| are)(?:{_NOT}) (?:allowed|permitted)\b|\bwe aren['\u2019]?t allowed\b"
    rf"|\bwe (?:may not|must not|mustn['\u2019]?t|can['\u2019]?t|cannot|can not) {_USE}\b"
    r"|\b(?:not (?:allowed|permitted)|forbidden|banned|prohibited)"
    r" (?:here|at (?:work|our)|by (?:the |our )?(?:company|policy|it|security|legal)|for us)\b"
    rf"|\berlaub(?:t|en) (?:uns )?(?:(?:die|der|das|unsere?) )?{_BY} (?:nicht|kein\w*)\b"
    r"|\bdürfen wir (?:\w+ ){0,3}(?:nicht|kein\w*)|\bwir dürfen (?:\w+ ){0,4}(?:nicht|kein\w*)"
    r"|\bbei uns (?:\w+ ){0,2}(?:nicht erlaubt|verboten|untersagt)\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"\b(?:yet|until|unless|if|while|right now|today|noch nicht|erst|heute|wenn|gerade)\b|\?",
    re.IGNORECASE,
)


def find_forbidden(
    rows: Iterable[tuple[int, str]], replies: Iterable[tuple[int, str]]
) -> list[int]:
    """Return the keys of those *rows* (key and text) that the user's reply to them forbids.

    >>> rows = [(1, "Use a tunnel: `ngrok http 8000`."), (2, "The page is up.")]
    >>> find_forbidden(rows, [(1, "hold on, company doesnt allow tunnels"), (2, "nice")])
    [1]
    """
    texts = dict(rows)
    return [
        key
        for key, reply in replies
        if len(text := texts.get(key, "")) <= _TURN_CHARS_MAX
        if any(_forbids(sentence, text) for sentence in sentences(reply)[:_SENTENCES_MAX])
    ]


def _forbids(sentence: str, text: str) -> bool:
    """Return whether *sentence* of the user forbids something that the agent's *text* names."""
    if not _FORBIDS.search(sentence) or _NOT_YET.search(sentence):
        return False
    return bool(content_stems(_FORBIDS.sub(" ", sentence)) & content_stems(text))
