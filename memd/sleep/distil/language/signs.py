"""Score the user's sentences by *signs*: patterns that raise or lower how much one is worth. Pure.

Each sign has a weight. So a score can be explained by the words that caused it.
"""

from __future__ import annotations

import re
from operator import mul
from typing import NamedTuple

from memd.text.alternations import Phrases
from memd.text.languages import FAILS, REFUSES

FLOOR_WORDS = 3
"""Fewer words state nothing."""
_SHORT_WORDS = 9  # up to here a pronoun without a name makes a sentence vague
_NAMES_MAX = 3  # names that count


def words(*alternatives: str) -> Phrases:
    """Return the pattern of any of *alternatives* as whole words, case ignored."""
    return Phrases(rf"\b(?:{'|'.join(alternatives)})\b")


# Words in front of an order: "ok, now please ", "based on that, ".
FIRST = (
    r"\W*(?:(?:so|ok(?:ay)?|now|then|and|also|please|next|first|finally|go ahead and|can you"
    r"|could you|pls|just|y|yes|yeah|sure|great|cool|(?:very )?(?:good|nice)|perfect|alright"
    r"|all right"
    r"|well|thanks|thank you|awesome|excellent|got it|let'?s go"
    r"|now that [^,.]{1,80},|(?:given|based on|after) [^,.]{1,80},|in (?:the|our|your) \w+,)\W+)*"
)
# After "don't": verbs of the mind state no wish ("I don't know").
_NO_WISH = (
    r"(?! (?:know|understand|see|get|think|remember|have|care|mind|believe|recall|find|feel|worry"
    r"|forget|bother)\b)"
)
# Looking or discussing, not changing: "we need to check".
LOOK = r" to (?:go|leave|look|check|see|figure|discuss|plan|decide|think|talk|know|understand)\b"
_NOT_NOW = rf"(?!{LOOK})"
# What the user wants of the current work: "we need a button", "it should scroll".
_ASKS_FOR = words(
    r"(?:we|i)(?: do| really| just| also| only| still|'ll)* ?(?:want|wanted|need|require|expect)"
    rf"{_NOT_NOW}",
    r"^\W*(?:need|want)",
    r"(?:we|i)(?: are|'re| am|'m)(?: already| not| only)? going to",
    r"\w+(?:'ll)? should",
    r"(?:we|it|they)(?:'ll| will)(?: also)?"
    r" (?:use|keep|have|fetch|need|go|do|be|support|want|store)",
    r"let(?:'?s| us)",
    rf"needs?{_NOT_NOW} (?:to|a|an)",
    r"ought to",
)
# Choices and ways of working: "we use uv", "go with B", "I like".
_CHOOSES = words(
    r"(?:we|i)(?: do| really| just| also| still)*"
    r" (?:don't|do not|won't|will not|can't|cannot|shouldn't|aren't)"
    rf"{_NO_WISH}",
    # "We deploy with ...", "our team use ...", "tests go in tests/"
    r"^\W*(?:(?:so|and|also|but|fyi|note|yes|no|well|here)\W+)*"
    r"(?:we|i|our \w+|the (?:team|project|repo))"
    r"(?: only| always| also| just| usually| normally| currently)?"
    r" (?:use|deploy|run|keep|follow|name|write|store|ship|support|release|build|host|target"
    r"|put|work)",
    # "Our team uses ...", "the project deploys with ..."; but "our app runs fine" is a report.
    r"^\W*(?:(?:so|and|also|but|fyi|note|yes|no|well|here)\W+)*"
    r"(?:our \w+|the (?:team|project|repo))(?: only| always| also| just| usually| normally"
    r"| currently)?"
    r" (?:uses(?! too| so| the wrong)|deploys|follows|names|stores|ships|supports|releases|hosts"
    r"|targets|keeps(?! \w+ing\b)|(?:runs|builds|writes) (?:in|on|with|under|for|only)\b)",
    r"(?:we're|i'm|we are|i am) (?:on|using|running|targeting)",
    r"(?:go|goes|belongs?|lives?|stays?) (?:in|into|under|next to)",
    r"it(?:'s| is) (?:ok|okay|fine|allowed|forbidden|important) to",
    # A choice as an order: "use uv for that", "no mocks please".
    rf"^{FIRST}(?:use|prefer|avoid|stick (?:to|with)|go with|keep(?! \w+ing| on| it up)|only \w+)",
    rf"^{FIRST}(?:don't|do not|never){_NO_WISH}",
    r"^\W*no \w+(?: \w+)?,? (?:please|pls|at all|here)",
    r"make sure",
    # About a kind of thing, or the agent: "commit messages should name ...", "you should ask".
    r"should(?:n't| not| only| always| never)",
    r"^\W*(?:(?:and|also|all|any|our|new)\W+)*(?!(?:this|its|yes)\b)(?:[a-z-]+ )?[a-z-]{3,}s"
    r" should",
    r"you should(?! (?:try|start|see|be able|have|now)\b)",
    r"(?:i am|i'm|we're) (?:fine|ok|okay|good|happy) with",
    r"(?:go|stick|stay) with",
    r"(?:i|we) (?:decided|chose|picked|agreed|said)",
    r"(?:the|our) (?:fix|answer|solution|idea|goal|plan|point|rule|reason) (?:\w+ )?(?:is|was)",
    r"(?:is|are|was) (?:fine|good enough|the right|better|enough|preferred|cleaner|only)",
    r"limit(?:ed)? \w+ to",
    r"i like",
    r"for (?:now|clarity)",
)
# A state that was measured, no choice: "our app uses 2 GB", "the worker only uses a lot of memory";
# but "we use 2 GB volumes" and "our project uses 4 spaces" are choices.
_RESOURCE = (
    r"(?:memory|rams?|cpus?|gpus?|vram|swap|heap|disk|storage|bandwidth|battery|power|energy|cores?"
    r"|quota|traffic|network)"
)
_SIZE = (
    r"(?:\d[\d.,]*(?: ?[-\u2013] ?\d[\d.,]*)?|an?|one|two|half an?) ?"
    r"(?:%|percent|[kmgt]i?b|bytes|gigs?|(?:kilo|mega|giga|tera)bytes?|ms|s|secs?|seconds?"
    r"|min(?:ute)?s?|hours?|watts?|kwh|cores?)"
    rf"(?=\W*$| ?[.,;:)(]| (?:of|on|in|at|per|now|when|while|more|less|already|after|and|but"
    rf"|{_RESOURCE})\b)"
)
_SHARE = (
    r"(?:(?:the|so|too|way|far|quite|very|nearly|almost|a|all) )*"
    r"(?:lots?|bit|tons?|loads|much|more|less|most|all|half|plenty|little|\d+x)(?: (?:more|less|too"
    rf" much))?(?: of)?(?: (?:the|our|its|my))?(?: \w+)? {_RESOURCE}\b"
)
_MEASURES = re.compile(
    r"\b(?:(?:we|our \w+) (?:(?:\w+ly|now|still|just) )*use|(?:only )?(?:uses|stores|ships|hosts))"
    r" (?:(?:about|around|over|almost|nearly|roughly|some|only|just|less than|more than) |~ ?)*"
    rf"(?:{_SIZE}|{_SHARE})",
    re.IGNORECASE,
)
# "Do not touch it"; but "the buttons do not open it" is a report.
_FORBIDS = (
    rf"(?:don't|do not){_NO_WISH}(?! (?:work|open|show|load|display|launch|appear|render|respond"
    r"|exist|seem|happen|do anything|run|start|match)\b)"
)
# "Never"; but "there was never an issue", "defined but never used" are reports.
_NEVER = r"(?<!was )(?<!were )(?<!had )(?<!has )(?<!have )(?<!but )(?<!been )never"
# Linters: "its default is never used".
_NEVER += r"(?! (?:used|referenced|assigned)\b)"
# Reports: "we never got an answer", "never seen this one".
_NEVER += r"(?! (?:got|had|did|saw|seen|heard|came|went|happened|worked|found out)\b)"
# Idioms: "never mind the footer", "never in my life".
_NEVER += r"(?! ?mind\b| in (?:my|your|his|her|their|our) (?:\w+ )?(?:life|years?|career)\b)"
# "I always forget which" is no rule; "you always forget" is a reproach.
_ALWAYS = r"(?<!i )always|always(?! (?:forget|mix|confuse|wonder|struggle|get confused)\b)"
_FIRM = (_ALWAYS, _NEVER, r"must(?:n't)?", _FORBIDS, r"no longer")
_CHOOSES_ONE = (r"instead", r"rather than", r"except", r"without", r"unless", r"not the")
# A rule or a limit: "at most 5", "except", "by default".
_RULES = words(
    *_FIRM, *_CHOOSES_ONE, r"ever(?=\W*$)", r"only", r"at (?:most|least)",
    r"exactly(?! (?:what|how|where|why|when|which|who)\b)", r"ha(?:s|ve) to", r"required?",
    r"forbidden", r"not allowed", r"may not", r"just (?:as|like)", r"same as", r"by default",
    r"supposed to", r",? (?:and |but )?not (?:in|on|at|to|the|a|an|my|our)(?= \w)", r"no need",
    r"won't", r"until", r"(?:in)?compatible", r"breaks?", r"nothing but", r"no \w+(?=[.!]|$)",
)  # fmt: skip
# Makes an order lasting; plain "only" and "just" occur in many momentary orders.
FIRM = words(*_FIRM, *_CHOOSES_ONE, r"only (?:if|when|after|for|the)")
# Makes an order say how something is done: "always sort the rows", "run it only after ...".
FIRM_ORDER = words(*_FIRM, r"only (?:if|when|after|the)")
# A hard requirement: "must", "deadline", "up to 20".
_REQUIRES = words(
    r"must(?:n't)?", _NEVER, _ALWAYS, r"ha(?:s|ve) to",
    r"(?<!when )(?<!if )(?<!as )required?", r"forbidden", r"cannot",
    r"not allowed", r"may not", r"at (?:most|least)", r"(?:in)?compatib\w+", r"breaking changes?",
    r"deadline", r"no more than", r"up to \d+",
)  # fmt: skip
# Corrects the agent: "that's not what I meant", "you missed", "it did nothing".
_CORRECTS = words(
    r", (?:and |but )?not (?!sure|yet|even|really|working|only|just|that|sure)\w+",
    r"(?:\w's|is|are|was|were)(?:n't| not)?"
    r" (?:wrong|incorrect|false|imprecise|correct|right|outdated)",
    r"(?:that|this|it)(?:'s| is) not (?:what|how|it|the|a|my|right|true|correct)",
    r"not what (?:i|we)",
    r"(?<!what )i (?:said|meant|told you|already (?:said|told)|never said"
    r"|asked (?:you )?(?:for|to))",
    r"you(?:'re| are)? (?:still|missing|wrong|just|keep|forgot|missed|misunderst\w+|broke|deleted)",
    r"i thought (?:we|you|it|the|that)",
    r"you (?:hallucinated|invented|imagined|made (?:this|that|it) up|misread|overlooked)",
    r"you (?:do not|don't) need",
    r"turns out",
    r"(?:doesn't|does not|did not|didn't|still (?:doesn't|does not|not)) (?:make sense|work|help)",
    r"did nothing",
    r"makes no sense",
    r"(?:why|how come) (?:did|are|do|would) you",
    r"what'?s missing",
    r"missing the (?:point|idea)",
    r"contradicts?",
    r"^\W*(?:(?:no|wait|oh|hm+|so|but|and|ok(?:ay)?)\W+)*actually",
    r"actually(?=\s*(?:[.,!\u2026]|$))",
    r"no,? (?:man|dude|wait)",
    r"not (?:\w+ ){0,3}but",
    r"you should(?:n't| not) (?:be|have)",
    r"you should(?:'ve| have) (?:\w+ )?\w+(?:ed|un|ne|ade|en|old|ut)(?! an?\b)",
    r"^\W*(?:k|ok(?:ay)?|yes|yeah|good|great|nice|fine|perfect)\b[^.?!]{0,60}\bbut\b",
)
# Starts with a refusal: "no", "wrong", "stop".
_REFUSAL = re.compile(
    r"\W*(?:(?:no|nope|nah|wrong|incorrect|stop|dude|wth|wtf|not)\b)",
    re.IGNORECASE,
)
# Gives a reason.
_CAUSE = words(
    r"because", r"'?cause", r"since", r"so that", r"due to", r"otherwise", r"the reason",
    r"that's (?:what|why)", r"which (?:is why|means)", r"cuz", r"reason being", r"that means",
)  # fmt: skip
# Thinking aloud: "maybe", "I wonder", "another option is".
_TENTATIVE = words(
    r"maybe", r"perhaps", r"i guess", r"i wonder", r"not sure", r"might",
    r"could be", r"let'?s (?:try|see|talk|discuss)", r"what do you (?:think|suggest)",
    r"(?:1|one) sec", r"brb",
    r"(?:other|another|alternative|second|third) (?:option|alternative|possibility|approach)s?"
    r"(?: (?:that )?(?:we|i|you) (?:have|could take))? (?:is|are|would|could)",
)  # fmt: skip
# Only true now: "right now", "did you", "it works", "I just pushed", "there are errors".
_PASSING = words(
    r"(?:just|right) now", r"at the moment", r"this time", r"tomorrow",
    r"(?<!since )(?<!as of )(?<!from )(?<!starting )today", r"once more",
    r"(?:it|them|this|that|check|try|run|look) again",
    r"you (?:just|already) (?:made|did|changed|added|wrote|said|gave|ran|completed|created"
    r"|finished|fixed|built|updated|implemented|mentioned|listed|suggested)",
    r"i (?:just|also|now) (?:looked|checked|ran|tried|saw|did|merged|pushed|committed)",
    r"did you", r"are you (?:currently|sure)",
    r"the (?:task|session|branch|pr|commit) (?:we're|we are|you're|i'm)",
    r"^\W*(?:ok(?:ay)?|k|done|alright|all right)\b(?=.* (?:is|are) (?:in|at|under|here)\b)",
    r"^\W*(?:ok(?:ay)?\W+)?i(?:'m| am|'ve| have)?(?: just| now| also)*"
    r" (?:test(?:ed|ing)|tried|trying|ran|running|added|seeing|getting)",
    r"^\W*(?:here'?s|here (?:is|are)|these errors|that works|it works)",
    r"^\W*that(?:'s| is) (?:fine|good|ok(?:ay)?|great)",
    r"(?:is|are|looks?) (?:fine|good|ok(?:ay)?) now", r"i should (?:be able to|see|get)",
    r"(?:works?|worked) (?:as expected|great|now|well|perfectly|fine)",
    r"(?:this|the following|these) errors?", r"(?:fails?|failed|failing) with", r"no errors?",
    r"(?:is|are) not (?:showing|working|loading|defined|enabled|found|visible|set)",
    r"still (?:has|have|shows?|appears?|displays?)(?! to\b)",
    r"we(?:'re| are| were) (?:now |currently |still )?working", r"there (?:are|is) \d+",
    r"i(?:'m| am) (?:still )?(?:not )?(?:seeing|getting)",
    r"(?:still|now) (?:incorrect|broken|failing)",
    r"^\W*i(?:'ve| have)? (?:also |just |now |already )*(?:put|uploaded|pasted|attached|copied"
    r"|updated|added|staged|committed|pushed|saved|moved|downloaded|replaced"
    r"|merged|renamed|installed|restarted)",
    r"i think (?:we|you) (?:did|broke)", r"there are (?:\w+ )?errors",
    r"i(?:'m| am) (?:on|at|in) (?:this|the) (?:\w+ )?(?:page|screen|tab|step|dialog|menu)",
    r"i see (?:the|this|these)",
    r"i (?:don't )?think (?:you|there)(?:'s|'re)?",
    r"(?:this|that|it) (?:still )?(?:isn't|is not|wasn't) (?:right|correct|working|true|it)",
    r"(?:that's|that is|this is|it's|it is) (?:weird|strange|odd)\b",
    r"(?:that's|this is|that was) (?:still )?not (?:right|correct|true|it)",
)  # fmt: skip
# Code, URLs, paths, options, identifiers, files, numbers with units.
_NAMES = Phrases(
    r"`[^`]+`|\b\w+://\S+|(?<!\w)[~.@]?/?[\w.@-]+(?:/[\w.@-]+)+|(?<!\w)--[a-z][\w-]+"
    r"|\b\w+(?:_\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b\w{2,}\.(?!\s)[a-z]{1,4}\b"
    r"|\b[A-Z]{2,}\d+\b|\b\d{2,}\b"
    r"|(?<!\w)\.[a-z][\w.]+|\b\d+ ?(?:[kmgt]i?b|ms|s|%|x)\b",
    0,
)
# A place or a version: "localhost", "/etc/x", "port 80", ":8080", "v1.2", "MAX_SIZE".
_PLACES = Phrases(
    r"\blocalhost\b|(?<![\w@])(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*"
    r"|(?<!@)\b[\w-]+(?:/[\w-]+)*/[\w-]+\.\w{1,5}\b|\bport \d+|:\d{4,5}\b"
    r"|(?<!\w)\.[a-z]\w+(?:\.\w+)*|\bversion \d|\bv?\d+\.\d+(?:\.\d+)?\b"
    r"|(?<!\w)--[a-z][\w-]+|\b[A-Z]+_[A-Z_]+\b",
    0,
)
# A verb that states where something is; with _PLACES it is a fact about the environment.
_SETS = words(
    r"is", r"are", r"lives?", r"runs?", r"running", r"listens?", r"uses?", r"using", r"installed",
    r"stored", r"located", r"see", r"ran", r"at", r"called", r"named", r"set (?:to|up)", r"under",
)  # fmt: skip


POINTS = re.compile(r"\b(?:this|that|it|them|these|those|they|there|one)\b", re.IGNORECASE)
"""Pronouns, which need the sentence before."""


class Signs(NamedTuple):
    """The signs of a sentence, as counts or flags; ``_WEIGHTS`` has the same fields.

    *hollow*: only says no. *vague*: short, with pronouns instead of names. *firm*: a lasting order.
    *stopped*: follows right after the user interrupted the agent.
    """

    wants: float
    rules: float
    requires: float
    corrects: float
    refuses: float
    places: float
    names: float
    causes: float
    firm: float
    stopped: float
    tentative: float
    passing: float
    vague: float
    short: float
    hollow: float


_BASE = 0.2
_WEIGHTS = Signs(
    wants=0.3,
    rules=0.2,
    requires=0.15,
    corrects=0.25,
    refuses=0.1,
    places=0.25,
    names=0.05,
    causes=0.1,
    firm=0.1,
    stopped=0.2,
    tentative=-0.3,
    passing=-0.2,
    vague=-0.15,
    short=-0.2,
    hollow=-0.2,
)


def worth(signs: Signs) -> float:
    """Return the score of *signs*, which may lie outside 0 to 1."""
    score: float = _BASE + sum(map(mul, signs, _WEIGHTS))
    return round(score, 2)


def is_passing(plain: str) -> bool:
    """Return whether a sentence is only about the current moment, or a short one with a pronoun.

    >>> is_passing("why didn't you use it just now?"), is_passing("why didn't you use the pool?")
    (True, False)
    """
    is_bare = len(plain.split()) <= _SHORT_WORDS and POINTS.search(plain) is not None
    return is_bare or _PASSING.search(plain) is not None


def only_asks_for(signs: Signs, plain: str) -> bool:
    """Return whether a sentence with *signs* is only a request about the current work.

    >>> text = "we want a second button on the page"
    >>> only_asks_for(signs_of(text, text, 8, stopped=False), text)
    True
    """
    has_more = signs.rules or signs.requires or signs.causes or signs.corrects or signs.stopped
    return bool(signs.wants) and not has_more and _CHOOSES.search(plain) is None


def signs_of(text: str, plain: str, count: int, *, stopped: bool) -> Signs:
    """Return the signs of the sentence *text* of *count* words; *plain* is its spoken form."""
    chosen = _MEASURES.sub("", plain)
    wants = bool(_CHOOSES.search(chosen) or _ASKS_FOR.search(chosen))
    rules = bool(_RULES.search(chosen))
    refuses = bool(_REFUSAL.match(plain) or REFUSES.match(plain))
    corrects = refuses or bool(_CORRECTS.search(plain))
    requires, causes = bool(_REQUIRES.search(plain)), bool(_CAUSE.search(plain))
    names = len(_NAMES.findall(text))
    states = wants or rules or requires or causes or names
    return Signs(
        wants=wants,
        rules=rules,
        requires=requires,
        corrects=corrects,
        refuses=refuses and count > FLOOR_WORDS,
        places=not wants and bool(_PLACES.search(text) and _SETS.search(text)),
        names=min(names, _NAMES_MAX),
        causes=causes,
        firm=not wants and bool(FIRM.search(plain)),
        stopped=stopped and (wants or rules or corrects),
        tentative=bool(_TENTATIVE.search(plain)),
        passing=bool(_PASSING.search(plain) or FAILS.search(plain)),
        vague=not names and count <= _SHORT_WORDS and bool(POINTS.search(text)),
        short=count < FLOOR_WORDS,
        hollow=corrects and not states and count <= _SHORT_WORDS,
    )
