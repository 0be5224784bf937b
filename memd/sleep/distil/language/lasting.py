"""Wishes by their make: a word that says how long or where they hold, and one that instructs.

"In future", "whenever", "in this repo" hold beyond the day; an order, "should", "no X" or
"we do" instructs. Each alone is in many sentences of the moment; both in one are a wish,
whatever it is about. What points at the hour ("yet", "this time", "tomorrow") is none.
Pure.
"""

from __future__ import annotations

import re

from memd.sleep.distil.language.signs import words

NOT_PAST = (
    r"(?! (?:\w+ed|got|had|did|was|were|saw|came|went|made|said|thought|knew|found|took|gave)\b)"
)
"""Behind "we never": what somebody did is told, what they do is how they work."""
_LEAD = r"^\W*(?:(?:and|also|but|so|ok(?:ay)?|please|then|oh|yes|note|fyi)\W+)*"
# Verbs of how something is done; those of one task ("fix", "move") are orders of the day.
_MANNER = (
    r"(?:use|keep|prefer|avoid|treat|call|name|write|phrase|spell|format|quote|cite|answer|reply"
    r"|leave|follow|stick|stay|respect|honou?r|assume|expect|favou?r|limit|target|round|sort"
    r"|put|store|give|say|ask|tell|mention|include|mark|tag|label)"
)
_INSTRUCTS = (
    r"(?:must|should|shall|ought to|needs? to|ha(?:s|ve) to|don't|do not|never|always|no"
    r"|please|make sure|ensure|(?:is|are) (?:to be|not to)|(?:goes|go|gets?|belongs?) )"
)
_SPAN = (
    r"(?:in (?:the )?future|for the future|from (?:now|here|today|this point) on(?:wards?)?"
    r"|from here on(?: out)?|henceforth|(?:going|moving) forwards?|at all times"
    r"|under no circumstances|as a (?:general )?rule|by convention|on principle|in general"
    r"|generally|no matter what|whatever you do)"
)
_HELD = (
    r"(?:throughout|everywhere|across the (?:board|project|repo\w*|code ?base)"
    r"|in (?:this|our|my|all|all of our|any of our) (?:repo\w*|projects?|code ?base|team|company"
    r"|house|shop|files?|texts?|docs?|documents?|documentation|tables?|reports?|e?mails?|tests?))"
)
_MADE = (
    # "In future, leave the generated files alone"; "dates should be ISO going forward"
    rf"{_LEAD}{_SPAN}[,:]? (?!(?:it|that|this|is|are|was|i'll|we'll|will|there|speaking|perhaps"
    r"|maybe|might|(?:we|i|you|they) (?:will|can|could|may|might|would|was|were))\b)\w+",
    rf"\b{_INSTRUCTS}\b[^?]{{0,200}}\b{_SPAN}(?=\W*$|[,;])",
    rf"{_LEAD}{_MANNER}\b[^?]{{0,200}}\b(?:{_SPAN}|{_HELD})(?=\W*$|[,;])",
    rf"\b(?:we|i) [a-z]+ [^?]{{0,200}}\b{_HELD}(?=\W*$)",
    # "Once you've finished a task, tick it in the list"
    rf"{_LEAD}(?:once|each time|every time|any ?time|whenever) (?:you|we|i|an?|any)\b"
    r"(?! (?:were|was|had|did|could|got)\b)[^,?]{0,200},"
    r" (?!(?:it|that|this|there|i'll|we'll|we (?:were|had|did|will|can)|i|they)\b)\w+",
    # "Ask before you install anything"
    rf"{_LEAD}(?:please )?{_MANNER}\b[^?]{{0,200}}"
    r"\b(?:whenever|(?:each|every) time) (?:you|we|i|an?)\b",
    # "grams, not cups", as somebody wants them
    rf"{_LEAD}(?:[^,.?]{{0,80}}, )?(?:use|give|write|send|show|call|prefer|say)\b[^.?]{{0,200}},"
    r" (?:not|never|and not) \w+(?: \w+)?(?=\W*$)",
    # "In release notes we want the reason first", "I expect you to test what you claim"
    rf"{_LEAD}(?:in|for|on) (?:all |any )?(?:[a-z]+ )?[a-z]{{2,}}s,? (?:we|i) (?:want|need|like"
    r"|expect|require)\b(?! to\b)",
    r"\b(?:i|we) expect (?:you to|(?:all|every|each|any)\b)",
    # "No default exports anywhere", "tabs, not spaces", "favour clarity over speed"
    rf"{_LEAD}(?:no (?!errors?|issues?|problems?|changes?|luck|results?|matches)[\w-]+"
    r"(?: [\w-]+){0,3} (?:anywhere|ever)(?=\W*$)|[\w-]+s,? not [\w-]+s(?=\W*$)"
    r"|(?:prefer|favou?r|choose|value) (?!(?:this|that|it)\b)[^.?]{3,80} over \w+"
    r"|(?:stay|keep) (?:away|out|off)(?: (?:from|of))? (?!(?:this|that|it|me)\b)\w+"
    r"|(?:our|my) \w+(?: team)? insists? on\b)",
    # Whose way it is
    r"\b(?:it'?s|this is|that'?s|as) (?:our|my|the team's|a|the) (?:\w+ )?(?:convention|policy|rule"
    r"|practice|habit|standard|custom|guideline|way)\b",
    r"\bthat(?:'s| is) how (?:we|i) (?:work|do|like|want)\b",
    r"\b(?:our|my) (?:house |usual |general |personal )?(?:style|convention|policy|practice|habit"
    r"|preference|rule of thumb|standard|guideline)s?\b",
    r"\b(?:we|i) (?:\w+ly )?(?:stick to|tend to|stand by|insist on|only ever)\b",
    r"\bwhen (?:i|we) (?:say|write|ask for|mention)\b[^?]{0,200},"
    r" (?:i|we|it|that) (?:means?|want|expect)",
    # How somebody wants to be dealt with
    rf"{_LEAD}(?:please )?be (?:\w+ ){{1,3}}(?:with|to|about|in|when|towards?)\b",
    r"\bnot (?:a|much of a|really a) (?:\w+ )?(?:fan|believer|friend) (?:of|in)\b",
    r"\bi(?:'m| am) (?:allergic to|a (?:big |great )?(?:fan|believer|friend) (?:of|in))\b",
    r"\b\w+ (?:beats|trumps|wins over|comes before) \w+(?=\W*$)",
)
_MAKES = re.compile("|".join(f"(?:{one})" for one in _MADE), re.IGNORECASE)
_ASKED = re.compile(
    rf"{_LEAD}(?:(?:can|could|will|would) you\b|(?:can|could) we (?:please )?(?:make sure|agree"
    r"|have|keep|use)\b|would you mind\b)[^?]{0,200}"
    rf"\b(?:{_SPAN}|always|never|every time|each time|whenever)\b",
    re.IGNORECASE,
)
_MOMENT = words(
    # "Nothing is rolled out yet" is a state, and the reason of much.
    r"(?<!rolled out )(?<!released )(?<!in production )(?<!launched )(?<!users )yet(?=\W*$|,)",
    r"(?:right|just|not|until) now",
    r"today|tonight|tomorrow",
    r"(?:just )?this (?:once|time|morning|afternoon|evening|week)",
    r"(?:for|on|in) this (?:one|slide|page|case|run|step|part|task|round|commit|pr|branch)",
    r"(?:this|that|these|those|the (?:first|second|third|other|last|next|same|red|blue)) ones?"
    r"(?=\W*$|,)",
    r"(?:a|one) (?:sec|second|moment|minute)",
    r"in (?:an?|one|two|three|ten|\d+|a few) (?:min(?:ute)?|hour)s?",
    r"(?:continue|look|see|do it|talk)(?: \w+){0,3} later",
    r"still (?:\w+ing|not|no)",
    r"(?:no|any|either|don't have a) preference|whatever you (?:like|prefer|want)",
)


def lasts(spoken: str) -> bool:
    """Return whether a sentence that asks nothing is a wish by its make, as it is *spoken*.

    >>> lasts("in future, leave the lock file alone"), lasts("leave the lock file alone")
    (True, False)
    """
    return _MAKES.search(spoken) is not None


def asks_to_last(spoken: str) -> bool:
    """Return whether a question is a polite wish for all times to come.

    >>> asks_to_last("could you always give the units?"), asks_to_last("is it always metres?")
    (True, False)
    """
    return _ASKED.search(spoken) is not None


def is_of_the_moment(spoken: str) -> bool:
    """Return whether a sentence points at the hour, or at one of the things at hand.

    >>> is_of_the_moment("please don't commit yet"), is_of_the_moment("please don't commit")
    (True, False)
    """
    return _MOMENT.search(spoken) is not None


# "In May we decided", "the team has agreed", but no case ("if we decided") and no step of the
# day ("I decided to try it").
_DECIDED = re.compile(
    r"^\W*(?:(?!(?:if|when|once|unless|whether|why|what|which|because|since|had)\b)"
    r"[\w']+\W+){0,4}?"
    r"(?:(?:we|i|(?:the|our) team)(?:'ve| have| has| had)?"
    r"(?: (?:all|both|also|just|now|finally|already))*"
    r" (?:decided|agreed|chose|chosen|opted|settled)\b(?! to (?:go|try|look|check|see|wait|leave"
    r"|stop|start|continue|take|do|skip|move on)\b)"
    r"|wir haben (?:uns )?(?:[\w-]+ ){0,8}(?:entschieden|beschlossen|vereinbart|geeinigt)\b"
    r"|(?:on a|nous avons) (?:décidé|convenu|choisi)\b|(?:hemos )(?:decidido|acordado|elegido)\b"
    r"|decidimos\b|abbiamo (?:deciso|scelto)\b|we hebben (?:[\w-]+ ){0,8}(?:besloten|afgesproken)\b"
    r"|мы (?:решили|договорились|выбрали)\b)",
    re.IGNORECASE,
)


def states_decision(plain: str) -> bool:
    """Return whether a sentence says in so many words that something was decided.

    >>> states_decision("We agreed to drop Python 3.9."), states_decision("I decided to try it")
    (True, False)
    """
    return _DECIDED.match(plain) is not None
