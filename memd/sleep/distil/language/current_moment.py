"""Recognise sentences about the current moment: reports, errors, feelings. Pure.

All patterns of this package expect the *spoken form* of a sentence (``spoken_form``): code, paths,
options and quotations are replaced by "Name", and missing apostrophes are added. Otherwise the
"only" in ``--only-cloud-sync`` would count as a word.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memd.sleep.distil.language.prose import READ_MAX
from memd.text.alternations import Phrases

NAMED = "Name"
"""Placeholder for a name in the spoken form; no pattern reacts to it."""

# Code, URLs, @mentions, --options, paths, files, snake_case, "no-op". Quotations last, because a
# name may contain a quotation mark, and a quotation may contain names.
_NAMES = Phrases(
    r"`[^`\n]*`"
    r"|\b\w+://\S+"
    r"|(?<![\w.])@[\w./-]*\w"
    r"|(?<!\w)--?[a-z][\w-]+"
    r"|(?<!\w)(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*"
    r"|\b[\w@-]+(?:/[\w.@-]+)*\.[a-z]{2,5}\b(?!\.\w)"
    r"|\b\w+(?:_\w+)+\b"
    r"|\b(?:\w+-)+(?:only|not?|never|always|must|without)\b"
    r"|\b(?:only|no|not|never|always|must|don'?t|without)(?:-\w+)+"
    r"|[\"\u201c][^\"\u201c\u201d\n]{2,300}[\"\u201d]"
)
# "dont", "wasnt"
_NOT = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|ca|wo|should|would|could|must|need|are)nt\b",
    re.IGNORECASE,
)
# "thats", "heres", and "its" before "not", "a", "the" or "still"
_IS = re.compile(r"\b(that|what|here|there|it(?=s (?:not|a|the|still)\b))s\b", re.IGNORECASE)


@lru_cache(maxsize=READ_MAX)
def spoken_form(text: str) -> str:
    """Return a sentence with NAMED for each name, and with missing apostrophes added.

    >>> spoken_form("dont touch `only.py`, thats for --no-wait")
    "don't touch Name, that's for Name"
    >>> spoken_form("never ask me “shall I?” again")
    'never ask me Name again'
    """
    text = _NAMES.sub(NAMED, text.replace("\u2019", "'"))
    text = _NOT.sub(r"\1n't", text)
    return _IS.sub(r"\1's", text)


# Reports how something looks or fails now: "the rows are not shown", "I still get an error".
_REPORTS = Phrases(
    r"\b(?:is|are|was|were)(?: still| now| just)?(?: not|n't| no longer| never) (?:\w+ )?(?:shown"
    r"|displayed|visible|filled|updated|working|loaded|loading|found|appearing|saved|added|used)\b"
    r"|\b(?!(?:i|we|you|please|and|but|so|then|also|just|yes)\b)\w+ (?:still |also |now )?"
    r"(?:don't|doesn't|do not|does not|didn't|did not|won't|can't) (?:\w+ )?(?:work|open|show|load"
    r"|display|launch|appear|render|respond|update|scroll|exist|play)\b"
    r"|\b(?:i|we|but|and|still) (?:still |now |just |also )?(?:can't|cannot|can not|couldn't|don't"
    r"|do not) (?:even |really )?(?:see|access|find|reach|open|load|connect|hear|click|sign in"
    r"|log in|get (?:any|an|the|a|it|to|past))\b"
    r"|\b(?:i|we)(?:'m| am|'re| are)?(?: still| now| just| only| also| keep| kept)*"
    r" (?:get|got|getting|see|saw|seeing|hit|ran into)"
    r" (?:(?:an?|the|this|these|another|some|following|same|new) )*"
    r"(?:\w+ )?(?:errors?|exceptions?|warnings?|blank|empty)\b"
    r"|^\W*(?:(?:no(?:pe)?|still|yes|ok|again|but|and|the)\W+)*(?:same|more|another|new) (?:look"
    r"|result|errors?|exceptions?|issue|problem)\b"
    r"|\bstill (?:can't|(?:can|do|does|is|are|did|has|have|could)(?:n't| ?not)|no\b)"
    r"(?! (?:want|like|need))"
)
# "I got this error: it must be a string": an error, although its text looks like a rule.
_SHOWS_ERROR = Phrases(
    r"(?<!when )(?<!if )(?<!whenever )(?<!until )(?<!unless )\b(?:i|we)(?:'m| am|'re| are)?"
    r" (?:still |now |just |also |keep )*(?:get|got|getting|see|saw|seeing|hit|ran into)"
    r" (?:(?:an?|the|this|these|that|another|some|following|same|new) )*(?:\w+ )?"
    r"(?:errors?|exceptions?)\b"
    r"|^\W*(?:(?:no(?:pe)?|but|and|now|still|so)\W+)*there(?:'s| is| are) (?:still |now )?"
    r"(?:(?:an?|another|some|more|the same) )?(?:errors?|exceptions?)\b"
)
# Makes a report a requirement: "the rows must not be shown".
_REQUIREMENT = Phrases(
    r"\b(?:must|should|want|need|ha(?:s|ve) to|instead|never|always|supposed to|let's|let us"
    r"|make sure|prefer|i (?:said|told|thought|meant)|turns out"
    r"|(?:we|i) (?:decided|agreed|chose))\b"
)
_WORD = re.compile(r"[^\W\d_]{2,}")


def reports(plain: str) -> bool:
    """Return whether a sentence in spoken form reports how something looks or fails now.

    >>> reports("the rows are not shown anymore"), reports("the rows must not be shown anymore")
    (True, False)
    """
    if shows_error(plain):
        return True
    return _REPORTS.search(plain) is not None and _REQUIREMENT.search(plain) is None


def shows_error(plain: str) -> bool:
    """Return whether a sentence in spoken form reports an error that its writer got.

    >>> shows_error("I got this error: it must be a string"), shows_error("if I get errors, stop")
    (True, False)
    """
    return _SHOWS_ERROR.search(plain) is not None


# "I feel so tired", "sometimes I cry", "I hate mondays", "toujours la même chose"
_FEELS = Phrases(
    r"^\W*(?:(?:but|and|so|sometimes|often|today|now|ok(?:ay)?|maybe|yes|no|oh|well|honestly)\W+)*"
    r"(?:i|we)(?:'m| am|'ll| will| could| just| always| still| sometimes| often| really| so| only)*"
    r" (?:(?:cry|cried|crying|weep|sob|sobbed)\b|feel(?:ing)? (?:\w+ ){0,2}?(?:tired|sad|lonely"
    r"|alone|bad"
    r"|down|low|guilty|stupid|lost|empty|sick|awful|terrible|anxious|stressed|overwhelmed"
    r"|exhausted|better"
    r"|happy|good|great|fine|weak|useless|nervous)\b"
    r"|(?:hate|love|dread) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)"
    r"|^\W*(?:it's |it is )?(?:always the same|sempre a mesma coisa|siempre lo mismo"
    r"|toujours la m[êe]me chose"
    r"|immer das ?(?:selbe|gleiche)|sempre la stessa (?:cosa|storia)|altijd hetzelfde)\b"
)


def feels(plain: str) -> bool:
    """Return whether a sentence in spoken form only says how somebody feels.

    >>> feels("sometimes i cry in the car"), feels("i hate mondays haha"), feels("i hate tabs")
    (True, True, False)
    """
    return _FEELS.search(plain) is not None


def only_names(text: str) -> bool:
    """Return whether *text* consists of names only, such as files or addresses.

    >>> only_names("@rules/tests.md"), only_names("keep @rules/tests.md")
    (True, False)
    """
    spoken = spoken_form(text)
    return NAMED in spoken and _WORD.search(spoken.replace(NAMED, " ")) is None
