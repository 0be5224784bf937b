"""Recognise sentences in which the user replaces one thing by another. Pure.

"Scrap the cursor, we do offset pagination", "we replaced webpack with Vite" and "Valkey replaces
Redis" name something that is no longer used. Parts of a page or of the code do not count: "we
replaced the icon with a star".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from memd.recall.ranking.change_phrases import find_given_up, gives_up_choice
from memd.sleep.distil.language.signs import FIRST, POINTS
from memd.sleep.distil.language.words import content_words
from memd.text.alternations import Phrases
from memd.text.words import sentences

# What is given up: "cursor" in "scrap the cursor, we do offset pagination after all".
_UNDONE = r"(?P<old>[^\W_][\w.+#/-]*(?: [\w.+#/-]+){0,3}?)"
_NOTED = r"\W*(?:(?:no|actually|fyi|note|btw|so|also|and|ok(?:ay)?)\b\W+)*"
_PART = (
    r"(?:\w+ )?(?:file|image|icon|button|colou?r|header|footer|text|label|link|line|title|logo|page"
    r"|variable|function|method|test|column|field|picture|placeholder|step|task|tab|view)s?\b"
)
_OF_OURS = rf"(?:the |our )?(?!{_PART})"
_NO_PART = rf"(?!{_PART})\w"
_UNDOES = (
    Phrases(
        rf"{FIRST}(?:hm+\W+)?(?:(?:let's|we|i)(?:'ll| will)? )?"
        r"(?:scrap|drop|ditch|abandon|forget(?: about)?|get rid of) (?:the |our |your )?"
        rf"{_UNDONE}(?P<firm> again| after all| altogether| entirely)?"
        r"(?:\s*[,;:.\u2013\u2014-]+\s*|\s+and\s+)(?:(?:so|then|and|just|let's|please)\s+)*"
        r"(?P<we>we(?:'ll| will)?\s+|i(?:'ll| will)?\s+)?"
        r"(?:do|use|go (?:with|for|back to)|take|stick (?:with|to)|switch to)\b"
        r"(?P<clause>[^.!?]*)"
    ),
    Phrases(
        rf"\W*(?:\w+\W+){{0,4}}?(?P<firm>doch nicht) (?:den |die |das |mit )?{_UNDONE},? sondern\b"
    ),
    Phrases(
        rf"\W*(?:(?:den|die|das|also|ok)\W+)*{_UNDONE} (?:verwerfen|streichen|lassen|werfen) wir"
        r" (?P<firm>(?:jetzt |doch )*(?:wieder|doch|raus|weg|sein)\b)"
    ),
    # The replacement follows: "we replaced webpack with Vite", "we renamed shopkit to storekit".
    Phrases(
        rf"{_NOTED}we(?:'ve| have)? (?:(?:now|just|finally) )?(?P<firm>(?:replaced|renamed"
        rf"|switched(?: over)? from|migrated from|moved from)) {_OF_OURS}{_UNDONE}"
        rf" (?:with|by|to) (?!an?\b|the\b){_NO_PART}"
    ),
    Phrases(
        rf"{_NOTED}{_OF_OURS}[A-Z][\w.+#-]*(?: [\w.+#-]+)? (?P<firm>(?:has |now )?replace[sd]) "
        rf"{_OF_OURS}{_UNDONE}(?: (?:for|in|as|on|since|as of|from)\b|\W*$)",
        0,
    ),
    # "Polling is dead, notify is the way", "webpack is out, we use Vite".
    Phrases(
        rf"{_NOTED}{_OF_OURS}{_UNDONE} (?:is|are) (?:dead|gone|out|history)"
        r"\s*[,;:.\u2013\u2014-]+\s*"
        r"(?P<firm>(?:we|i)(?:'ll| will)? (?:use|do|go with|take)\b|use\b"
        r"|[^,;.!?]{2,40} (?:is the way|is the new|instead|now|from now on)\b)"
    ),
    Phrases(
        rf"\W*(?:\w+\W+){{0,4}}?statt (?:des |der |dem |den )?{_UNDONE} (?P<firm>jetzt|nun|doch)\b"
    ),
)
# "The pilot list is gone, all merchants are live"; a name of one word is mostly a report.
_GONE = Phrases(
    rf"{_NOTED}(?:the |our )?(?P<gone>[^\W_][\w.+#/-]*(?: [\w.+#/-]+){{1,2}}) (?:is|are)(?: now)?"
    r" (?:gone|dead|history|retired|abolished|no more)\b(?! (?:from|in|on|at|after|when|again)\b)"
)
# A name with a capital letter is refused for what was planned: "rather not Rabatzz, too loud",
# "doch lieber nicht der Adler", "not Luigi's after all".
_NAME = r"(?P<name>(?!I\b)[A-ZÄÖÜ][\w.+#-]*(?: [A-ZÄÖÜ][\w.+#-]*){0,2})"
_ANSWERS = r"\W*(?i:(?:ok(?:ay)?|hm+|no|oh|ah|nein|ach|ne)\W+)*"
_REFUSES = (
    Phrases(
        rf"{_ANSWERS}(?i:rather not|doch lieber nicht|lieber doch nicht|doch nicht)"
        r" (?i:(?:the|at|in|to|with|der|die|das|den|dem|zum|zur|beim?|nach|mit) )*"
        rf"{_NAME}(?i:(?!.*\b(?:now|first|yet|today|erst|zuerst|bitte|jetzt|heute|gerade|noch)\b))",
        0,
    ),
    Phrases(rf"{_ANSWERS}(?i:not (?:the )?){_NAME}(?:'s|\u2019s)? (?i:after all)\b", 0),
)
_FOLDED = re.compile(r"\w+")
_GONE_WORDS_MIN = 2
_STEM_CHARS = 4  # with these, two words are forms of one
_BEGIN_CHARS = 60  # the beginning of a text, where a name is its subject
_FIRM_END = re.compile(r"\b(?:after all|instead|again)\W*$", re.IGNORECASE)


class Replacement(NamedTuple):
    """The *name* of what is given up; *is_firm* if the sentence says so unmistakably."""

    name: str
    is_firm: bool


def find_replacement(sentence: str) -> Replacement | None:
    """Return what *sentence* gives up for something else, None if it gives up nothing.

    >>> find_replacement("So scrap the cursor, we do offset pagination after all")
    Replacement(name='cursor', is_firm=True)
    >>> find_replacement("drop the items table and create it again") is None
    True
    """
    match = next((match for pattern in _UNDOES if (match := pattern.match(sentence))), None)
    if match is None or "?" in sentence or POINTS.search(match["old"]):
        return None
    parts = match.groupdict()
    is_firm = parts["firm"] or parts.get("we") or _FIRM_END.search(parts.get("clause") or "")
    return Replacement(match["old"].casefold(), bool(is_firm))


def find_refused(sentence: str) -> str:
    """Return the name that *sentence* refuses for what was planned, "" if it refuses none.

    >>> find_refused("doch lieber nicht Rabatzz, zu laut"), find_refused("rather not now")
    ('Rabatzz', '')
    """
    matches = (pattern.match(sentence) for pattern in _REFUSES)
    return next((match["name"] for match in matches if match), "")


def find_gone(sentence: str) -> str:
    """Return what *sentence* says is no longer there, "" if it says so of nothing.

    >>> find_gone("the pilot list is gone by the way"), find_gone("my key is gone from the page")
    ('pilot list', '')
    """
    match = _GONE.match(sentence)
    return match["gone"] if match and not POINTS.search(match["gone"]) else ""


class Withdrawal(NamedTuple):
    """What a *text* gives up.

    *names*: something else takes their place. *refusals* are the words of names that were planned,
    *gone* those of things that are no longer there.
    """

    text: str
    names: tuple[str, ...]
    refusals: tuple[frozenset[str], ...]
    gone: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> Withdrawal:
        """Return what *text* gives up, which is nothing for most texts."""
        parts = sentences(text)
        names = tuple(each.name for each in map(find_replacement, parts) if each)
        refusals = map(content_words, map(find_refused, parts))
        gone = tuple(content_words(name) for name in map(find_gone, parts) if name)
        return cls(text, names, tuple(filter(None, refusals)), gone)

    @property
    def is_any(self) -> bool:
        """Whether the text gives up something that was chosen."""
        return bool(self.names or self.gone or find_given_up(self.text))

    def is_subject_of(self, earlier: str) -> bool:
        """Return whether *earlier* begins with what is replaced, or names it more than once.

        >>> withdrawal = Withdrawal.of("Drop Redis again, use a dict.")
        >>> withdrawal.is_subject_of("Redis holds the sessions.")
        True
        >>> page = "The page is quick in every browser that anybody has tried so far, Redis or not."
        >>> withdrawal.is_subject_of(page)
        False
        """
        whole = f" {' '.join(_FOLDED.findall(earlier.casefold()))} " if self.names else ""
        folded = (f" {' '.join(_FOLDED.findall(name))} " for name in self.names)
        # Once is enough for a name of several words, which hardly occurs by chance.
        return any(
            name in whole[:_BEGIN_CHARS] or whole.count(name) > (len(name.split()) == 1)
            for name in folded
        )

    def removes(self, earlier: str) -> bool:
        """Return whether *earlier* names a thing that is no longer there, with all its words.

        >>> Withdrawal.of("polling 500ms is dead").removes("poll interval 500ms, batch 100")
        True
        """
        words = content_words(earlier) if self.gone else ()
        return any(
            len(thing) >= _GONE_WORDS_MIN and all(_is_in(word, words) for word in thing)
            for thing in self.gone
        )

    def is_choice_of(self, earlier: str) -> bool:
        """Return whether *earlier*, a short choice, is about what is given up."""
        return gives_up_choice(self.text, earlier)

    def refuses(self, words: frozenset[str]) -> bool:
        """Return whether a name is refused whose words are all among *words*.

        >>> Withdrawal.of("rather not Rabatzz, too loud").refuses(frozenset({"at", "rabatzz"}))
        True
        """
        return any(name <= words for name in self.refusals)


def _is_in(word: str, words: Iterable[str]) -> bool:
    """Return whether one of *words* is *word*, or begins it or with it: "poll" and "polling"."""
    return any(
        word == other
        or (min(len(word), len(other)) >= _STEM_CHARS and word[:_STEM_CHARS] == other[:_STEM_CHARS])
        for other in words
    )
