"""What is of this moment, not about the work: orders of the minute, how something looks. Pure.

It is told of a sentence as it is spoken: names are no words, and a missing apostrophe is no
other word. ``--only-cloud-sync`` says nothing of "only", a quoted question asks nothing, and
"dont" is "don't".
"""

from __future__ import annotations

import re

from memd.text.languages import FAILS

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


def spoken_form(text: str) -> str:
    """Return one sentence with a word for each name, and its apostrophes where they belong.

    >>> spoken_form("dont touch `only.py`, lets use --no-wait")
    "don't touch Name, let's use Name"
    >>> spoken_form("never ask me “shall I?” again")
    'never ask me Name again'
    """
    text = _NAMES.sub(NAMED, text.replace("\u2019", "'"))
    text = _NOT.sub(r"\1n't", text)
    text = _IS.sub(r"\1's", text)
    text = _ARE.sub(r"\1'\2", text)
    return _LETS.sub("let's", text)


_THIS_TIME = re.compile(
    r"\b(?:don't|do not) (?:modify|change|edit|write|touch|make|implement|fix)"
    r" (?:any |the |your )?(?:code|changes?|files?|anything)\W+(?:yet|now|just|only)\b"
    r"|\b(?:don't|do not|not) (?:\w+ )?(?:touch|change|modify|edit|do|add|fix|remove)"
    r" (?:any|every)thing else\b"
    r"|^\W*(?:please )?(?:don't|do not) (?:fix|change|modify|edit|touch|implement)"
    r" (?:anything|any code)"
    r"(?=\W*$)"
    r"|\b(?:just|only) (?:do what|get (?:it|them|this|that)|make it work|finish)\b"
    r"|\bget (?:it|this|everything)(?: all)? (?:running|working|done|finished)\b"
    r"|\b(?:i|we) (?:really |just |first )*(?:want|need|would like|have) to"
    r" (?:pull|push|commit|merge|rebase|find|start|begin|continue|finish|restart)\b"
    r"|\b(?:don't|do not) [^,.;]{3,60}[,;]"
    r" just (?:fix|change|move|remove|add|rename|revert) (?:the|this|that) \w+\W*$"
    r"|\btry \w+ing\b"
    r"|\b(?:i|we) (?:really |just )*need (?:(?:some |your )?help|to (?:debug|configure))\b"
    r"|\bi(?:'m| am) looking for\b"
    r"|\bi give up\b|\bno (?:improvement|change|luck|difference|effect)\b",
    re.IGNORECASE,
)
_FEW_WORDS = 9
# "Don't stop", "wait, not that one": orders of nothing but pointing words and plain verbs.
_STOPS = re.compile(
    r"\W*(?:(?:no|ok(?:ay)?|wait|please|hold on|so|and|but|just|yes)\W+)*"
    r"(?:don't|do not|not|only|never|stop|wait)\b(?:\W+(?:stop|wait|do|delete|remove|change|touch"
    r"|run|start|go|worry|bother|show|move|that|this|it|them|those|these|the|one|ones|first|second"
    r"|third|last|next|other|two|three|four|anything|everything|now|yet|here|there|please|keep"
    r"|going|just|look|for|any|more|else|again)\b)*\W*$",
    re.IGNORECASE,
)
_OTHER = re.compile(r"\b(?:again|ever|more|(?:any|every)thing else)\W*$", re.IGNORECASE)
# How something looks or fails at this moment, told so that the agent looks at it.
_SHOWN = (
    r"(?:shown|displayed|visible|filled|updated|populated|activated|working|plotted|printed"
    r"|rendered|loaded|loading|triggered|aligned|clickable|highlighted|responding|showing|found"
    r"|appearing|sorted|refreshed|added|removed|applied|saved|selected)"
)
_FAILING = (
    r"(?:work|open|show|load|display|launch|appear|render|respond|update|activate|trigger|fire"
    r"|scroll|exist|happen|play|refresh|compile|move|click|press|type|drag|log ?in|sign ?in)\b"
)
_NEGATED = r"(?:don't|doesn't|do not|does not|didn't|did not|won't|can't|cannot|can not|couldn't)"
_WHEN = (
    r"^\W*(?:(?:so|and|but|now|argh|hm+|ok(?:ay)?|still|well|no|yes)\W+)*"
    r"(?:when|if|whenever|as soon as|once|every time|each time)"
    r" (?:(?:i|we) (?:now |try to |just |first )*(?:open|click|press|load|select|start|run|go|log"
    r"|save|type|hover|scroll|refresh|reload|drag|tap|choose)"
    r"|(?:open|click|press|load|select|start|runn|hover|scroll|refresh|reload|sav|drag|tapp)ing)\b"
)
_REPORTS = re.compile(
    rf"\b(?:is|are|was|were) (?:still |now |just )?(?:not|no longer|never) (?:\w+ )?{_SHOWN}\b"
    rf"|\b(?:isn't|aren't|wasn't|weren't) (?:\w+ )?{_SHOWN}\b"
    rf"|\b(?:no|only) (?:\w+ ){{1,4}}(?:is|are) {_SHOWN}\b"
    r"|\b(?!(?:i|we|you|please|and|but|so|then|also|just|yes)\b)\w+ (?:still |also |now )?"
    rf"{_NEGATED} (?:\w+ )?{_FAILING}"
    rf"|\b(?:i|we|but|and|still) (?:still |now |just |also )?{_NEGATED} (?:even |really )?"
    r"(?:see|access|find|reach|open|load|connect|hear|click|press|type|drag|scroll|sign in|log in"
    r"|get (?:any|an|the|a|it|to|past))\b"
    r"|\b(?:i|we) (?:still |now |just |also )*(?:keep|kept|am|'m|are|'re) (?:still )?"
    r"(?:getting|seeing)\b|\bi(?:'m| am) (?:still )?(?:getting|seeing)\b"
    r"|\bstill (?:can't|(?:can|do|does|is|are|did|has|have|could)(?:n't| ?not)|no\b)"
    r"(?! (?:want|like|need))"
    r"|\b(?:i|we) (?:get|got|have|see) (?:exactly )?(?:this|these|the (?:same|following)|another"
    r"|a new) (?:\w+ )?(?:errors?|exceptions?|warnings?)\b"
    r"|^\W*(?:(?:and|but|so|now|no|ok(?:ay)?|still|argh|hm+)\W+)*(?:i|we)"
    r" (?:only |now |still |just )*(?:get|got|see|saw|hit|ran into|run into)"
    r" (?:an? |the |this |that |these )?(?:\w+ )?"
    r"(?:error|exception|warning|message|offset|blank|white|black|empty)"
    r"|^\W*(?:(?:and|but|so|now|ok(?:ay)?)\W+)*i(?:'ve| have) (?:just |now |also |already )?"
    r"(?:\w+ed|done|put|run|set|made|seen|tried)\b"
    r"|\b(?:that|this|it|you|which|everything|something) (?:just |now |also |really )*"
    r"(?:broke|messed|crashed|ruined)\b"
    # "So when I load it, only six are there": an occasion, and what then is to be seen.
    rf"|{_WHEN}[^,]*, (?!(?:please|then|just|use|don't|do|keep|make|show|put|add|give|tell)\b)"
    r"\w",
    re.IGNORECASE,
)
# An error that is shown, whatever rule its words may tell ("must be a string").
_SHOWS_ERROR = re.compile(
    r"(?<!when )(?<!if )(?<!whenever )(?<!until )(?<!unless )\b(?:i|we)(?:'m| am|'re| are)?"
    r" (?:still |now |just |also |keep )*(?:get|got|getting|see|saw|seeing|hit|ran into)"
    r" (?:(?:an?|the|this|these|that|another|some|following|same|new) )*(?:\w+ )?"
    r"(?:errors?|exceptions?)\b"
    r"|^\W*(?:(?:no(?:pe)?|but|and|now|still|so)\W+)*there(?:'s| is| are) (?:still |now )?"
    r"(?:(?:an?|another|some|more|the same) )?(?:errors?|exceptions?)\b",
    re.IGNORECASE,
)
# What happens to the agent or to the page, though a word says that it always does.
_HAPPENS = (
    r"(?:crash|fail|break|freez|hang|throw|die|error|flicker|jump|disappear|vanish|complain|ask"
    r"|stop)(?:e?s|ing)?"
)
# So begins who looks at what was just made, whatever is said of it.
_LOOKS_AT = re.compile(
    r"\bno (?:visual|visible|noticeable|real) (?:change|difference|effect|output)s?\b"
    r"|^\W*(?:\w+\W+){0,6}the only (?:issue|problem|error)\b.{0,30}\b(?:is|was)\b"
    r"|^\W*(?:(?:no(?:pe)?|still|yes|ok|again)\W+)*(?:the )?same (?:look|result|error|issue"
    r"|problem)\b"
    r"|^\W*almost (?:there|good|right|perfect|done)\b|\bit(?:'s| is) not the case\b"
    r"|^\W*(?:but |and |hm+\W+)*it (?:still )?(?:seems|looks like|appears)\b"
    r"|^\W*still (?:only|no|not|the same|nothing)\b"
    r"|\bwithout any(?: more)? (?:error|problem|issue)s?\b"
    r"|^\W*(?:\w+\W+){0,5}(?:more|new|another|next|same|still) errors?(?: there| here| now)?\W*$"
    r"|\b(?:seems|looks) (?:like )?(?:that|it|this) (?:worked|helped)\b"
    r"|\b(?:is|are) never (?:used|referenced|assigned)\b"
    r"|^\W*(?:\w+\W+){0,2}(?:this|that|it|everything) (?:was|used to be) (?:working|fine)\b"
    rf"|\bit (?:always|only|still|keeps?(?: on)?) {_HAPPENS}\b"
    r"|^\W*only the [^,.]{3,40} (?:changed|differs?|is different)\b"
    r"|\bit always (?:return|show|say|give|print|load|happen|end)s\b"
    r"|\bit never (?:show|load|open|appear|work|finish|come|get|stop|end)s\b"
    r"|\byou keep (?:on )?(?:hitting|getting|seeing|failing|running into|finding)\b"
    r"|^\W*(?:\w+\W+){0,2}you should (?:now )?(?:have (?:the|an?|it|my|this)|see"
    r"|be able to|find|get)\b"
    r"|^\W*(?:\w+\W+){0,2}i (?:only|just) see\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"\b(?:must|should|want|need|ha(?:s|ve) to|instead|never|always|supposed to|let's|let us"
    r"|make sure|prefer|i (?:said|told|thought|meant)|turns out"
    r"|(?:we|i) (?:decided|agreed|chose))\b",
    re.IGNORECASE,
)
# What breaks off: what stood behind it was pasted.
_BREAKS_OFF = re.compile(
    r"\b(?:go to|like in|as in|such as|the|an?|into|following|as follows|as below|see below)\s*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")


def is_this_time(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, limits or hurries this one piece of work.

    >>> is_this_time("do not modify code, just say where the fault is")
    True
    """
    return _THIS_TIME.search(plain) is not None


def only_points(plain: str, count: int) -> bool:
    """Return whether a sentence of *count* words forbids or limits nothing but what is at hand.

    >>> only_points("wait, don't delete that one", 5), only_points("don't delete backups", 3)
    (True, False)
    """
    return count <= _FEW_WORDS and _STOPS.match(plain) is not None and _OTHER.search(plain) is None


def reports(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, tells how something looks or fails just now.

    >>> reports("the rows are not shown anymore"), reports("the rows must not be shown anymore")
    (True, False)
    """
    if any(one(plain) for one in (_LOOKS_AT.search, FAILS.search, shows_error)):
        return True
    return _REPORTS.search(plain) is not None and _ASKED_FOR.search(plain) is None


def shows_error(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, shows an error that its writer got.

    >>> shows_error("I got this error: it must be a string"), shows_error("if I get errors, stop")
    (True, False)
    """
    return _SHOWS_ERROR.search(plain) is not None


def breaks_off(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, leads to something that is not told.

    >>> breaks_off("now let's go to"), breaks_off("the port that it listens to")
    (True, False)
    """
    return _BREAKS_OFF.search(plain) is not None


_FEELS = re.compile(
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
    r"|immer das ?(?:selbe|gleiche)|sempre la stessa (?:cosa|storia)|altijd hetzelfde)\b",
    re.IGNORECASE,
)
# One piece of work, or one text: "write weak.md", "poster text pls", "calm plan for 7 weeks pls".
_ONE_PIECE = re.compile(
    rf"^\W*(?:(?:please|pls|ok(?:ay)?|and|now|then|also)\W+)*(?:write|make|create|open|show|read"
    rf"|send|print"
    rf"|update|save|fix) (?:me )?(?:the |my |an? )?{NAMED}(?: (?:please|pls|plz|again|now))?\W*$"
    r"|^\W*(?:(?:please|pls|ok(?:ay)?|and|now|then|also)\W+)*(?!(?:no|less|fewer|short(?:er)?"
    r"|plain|only|just)"
    r"\b)(?:\w+ ){0,3}(?:text|letter|e?mail|post|speech|poem|card|list|plan|table|draft|poster"
    r"|song)"
    r"(?: (?:for|to|about|of) [\w ]{2,30})? (?:please|pls|plz)\W*$",
    re.IGNORECASE,
)


def feels(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, says how somebody feels, whatever it wishes.

    >>> feels("sometimes i cry in the car"), feels("i hate mondays haha"), feels("i hate tabs")
    (True, True, False)
    """
    return _FEELS.search(plain) is not None


def orders_one_piece(plain: str) -> bool:
    """Return whether a sentence, as it is spoken, is no more than an order of one piece of work.

    >>> orders_one_piece(spoken_form("write weak.md")), orders_one_piece("poster text pls")
    (True, True)
    >>> orders_one_piece("short answers pls")
    False
    """
    return _ONE_PIECE.match(plain) is not None


def only_names(text: str) -> bool:
    """Return whether *text* is names alone: a file, an address.

    >>> only_names("@rules/tests.md"), only_names("keep @rules/tests.md")
    (True, False)
    """
    plain = spoken_form(text).replace(NAMED, " ")
    return NAMED in spoken_form(text) and _WORD.search(plain) is None
