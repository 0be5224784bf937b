"""A sentence as it is spoken: names are no words, and a missing apostrophe is no other word.

``--only-cloud-sync`` says nothing of "only", a quoted question asks nothing, and "dont"
is "don't". Pure.
"""

from __future__ import annotations

import re

NAMED = "Name"
"""What stands for a name: a word that wants, forbids and asks nothing."""

# Quotations last: a name may hold an apostrophe, a quotation may hold names.
_NAMES = re.compile(
    r"`[^`\n]*`"
    r"|\b\w+://\S+"
    r"|(?<![\w.])@[\w./-]*\w"
    r"|(?<!\w)--?[a-z][\w-]+"
    r"|(?<!\w)(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*"
    r"|\b[\w@-]+(?:/[\w.@-]+)*\.[a-z]{2,5}\b(?!\.\w)"
    r"|\b\w+(?:_\w+)+\b"
    r"|\b(?:\w+-)+(?:only|not?|never|always|must|without)\b"
    r"|\b(?:only|no|not|never|always|must|don'?t|without)(?:-\w+)+"
    r"|[\"\u201c][^\"\u201c\u201d\n]{2,300}[\"\u201d]",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|ca|wo|should|would|could|must|need|are)nt\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(that|what|here|there|it(?=s (?:not|a|the|still)\b))s\b", re.IGNORECASE)
_LETS = re.compile(
    r"(?:(?<=^)|(?<=[,.;:] )|(?<=\bso )|(?<=\band )|(?<=\bthen )|(?<=\bnow )|(?<=\bok )"
    r"|(?<=\byes )|(?<=\bok, )|(?<=\balso ))lets\b(?! (?:you|us|it|them|the user)\b)",
    re.IGNORECASE,
)
_ARE = re.compile(r"\b(you|they)(re|ve|ll)\b", re.IGNORECASE)


def spoken(text: str) -> str:
    """Return one sentence with a word for each name, and its apostrophes where they belong.

    >>> spoken("dont touch `only.py`, lets use --no-wait")
    "don't touch Name, let's use Name"
    >>> spoken("never ask me “shall I?” again")
    'never ask me Name again'
    """
    text = _NAMES.sub(NAMED, text.replace("\u2019", "'"))
    text = _NOT.sub(r"\1n't", text)
    text = _IS.sub(r"\1's", text)
    text = _ARE.sub(r"\1'\2", text)
    return _LETS.sub("let's", text)
