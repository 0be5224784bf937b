"""Detection of preferences, and the names under which they are stored (SPEC 1.7.5, D5).

A preference is stored under the name of its topic where its words tell the topic,
so that a new statement replaces the old one: "my favourite
editor is Vim", and a year later Helix. Otherwise the name is a hash of
the words, and two wordings are two preferences. This errs on one side on
purpose: a preference stored twice is noticed and fixed, one overwritten by
another topic is lost silently.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from memd.text.directives import begins_directive
from memd.text.words import content_stems, sentences

SIGNAL = re.compile(
    r"\b(?:I\s+(?:(?:now|still|really|actually|generally|usually)\s+)?(?:prefer|always|hate)"
    r"|my\s+favou?rite)\b",
    re.IGNORECASE,
)
"""The documented signals (SPEC 1.6.5), with both spellings of the last, and with an adverb."""

_OF_PROJECT = (
    r"\b(?:this (?:very )?(?:repo(?:sitory)?|project|code ?base|workspace|monorepo)|diese[mrs]?"
    r" (?:repo(?:sitory)?|projekt)s?|ce (?:projet|dépôt|repo)|este (?:proyecto|repo(?:sitorio)?"
    r"|projeto)|(?:questo|quest[oa]) (?:progetto|repo(?:sitory)?)|(?:deze|dit) (?:repo|project))\b"
)
_IN_PROJECT = re.compile(
    rf"^(?:in|for|within|für|dans|pour|en|para|per|voor) {_OF_PROJECT}[,:]? ", re.IGNORECASE
)
_RULES_OUT = re.compile(
    rf"(?:no|zero|only) (?:[\w+#-]+ ){{1,5}}(?:in|for) {_OF_PROJECT}[.!]*$", re.IGNORECASE
)

_ASKS = re.compile(
    r"\s*+(?:what|which|who|whom|whose|when|where|why|how|is|are|was|do|does|did|can|could|will|would"
    r"|should|shall|have|has|remember)\b",
    re.IGNORECASE,
)

# What somebody always does against their will is no wish: "I always forget my umbrella".
_BEFALLS = re.compile(
    r"I\s+always\s+(?:seem\s+to\s+|manage\s+to\s+)?(?:forget|lose|miss|misplace|misread|mistype"
    r"|mix\s+(?:\w+\s+)?up|confuse|wonder|struggle|end\s+up|fail\s+to|fall\s+asleep|oversleep|run\s+out"
    r"|get\s+(?:confused|lost|stuck|nervous|sick|distracted))\b",
    re.IGNORECASE,
)

# The patterns below match one sentence in lower case with single spaces, from
# its beginning: "when I travel, my favourite food is ..." differs from
# "my favourite food is ...".
_LEAD = (
    r"^(?:(?:well|so|and|also|actually|yes|yeah|no|btw|by the way|note|remember|fyi|update),? )?"
    r"(?:that )?"
)
_TOPIC = r"(?P<topic>[\w'+#-]+(?: [\w'+#-]+){0,4}?)"
_FAVOURITE = re.compile(rf"{_LEAD}my favou?rite {_TOPIC}(?: (?:is|are)\b|:)(?P<value>[^,;]*)")
_IS_FAVOURITE = re.compile(
    rf"{_LEAD}(?P<value>\S+(?: \S+){{0,3}}) (?:is|are) (?:now |still )?my favou?rite {_TOPIC}$"
)
_SIDE = r"[\w+#./-]+(?: [\w+#./-]+){0,2}?"
_OVER = re.compile(
    rf"{_LEAD}i (?:now |still |really |actually )?prefer (?P<one>{_SIDE})"
    rf" (?:over|rather than|instead of) (?P<other>{_SIDE})"
    r"(?: (?:for|in|when|on|at|with) (?P<where>[\w+#'-]+(?: [\w+#'-]+){0,3}))?$"
)
_ALWAYS = re.compile(
    rf"{_LEAD}i always (?P<what>(?:use|write|want|work|run|take|drink|eat)(?: [\w+#-]+){{1,4}})$"
)
_SENTENCE_CHARS_MAX = 300

# A value followed by "for Python" or "when it rains" is conditional, and
# another value may hold under another condition.
_CONDITION = frozenset(("for", "when", "if", "in", "on", "at", "during", "with", "while", "as"))

# Words whose meaning depends on context: "my favourite one" and "my favourite
# part of it" name no topic.
_POINTING = re.compile(
    r"\b(?:the|this|that|these|those|it|its|them|all|here|there|his|her|their|he|she|they|ones?|parts?"
    r"|things?|bit|times?|memory|moments?|way|ever|of|about|so|far|and|or)\b"
)
_ARTICLES = frozenset(("a", "an", "the", "my"))
_PLURAL = re.compile(r"(?<=sh|ch)es$|(?<=[a-z]{3})(?<![suix])(?<!sh|ch)(?<!ie)(?<!he)s$")
_NON_WORD = re.compile(r"[^\w+#]+")


def is_preference(text: str) -> bool:
    """Return whether *text* states a preference; asking for one is not stating it.

    >>> is_preference("I prefer tea."), is_preference("What is my favourite tea?")
    (True, False)
    >>> is_preference("I always ask first"), is_preference("I always forget my umbrella")
    (True, False)
    """
    if not SIGNAL.search(text):
        return False
    return any(True for _ in _statements(text))


def default_category(text: str, speaker: str | None) -> str:
    """Return the category of a text that is added without one: a preference, or a fact.

    A directive of the owner to the assistants counts as a preference, because an added text is
    addressed to them, unlike one read elsewhere. Only the owner has preferences (SPEC D5):
    those of another *speaker* are facts.

    >>> default_category("I prefer dark mode", None), default_category("I prefer dark mode", "Ann")
    ('procedural', 'semantic')
    >>> default_category("Always answer in German", None), default_category("He naps", "Ann")
    ('procedural', 'semantic')
    """
    prefers = is_preference(text) or _is_directive(text)
    return "procedural" if speaker is None and prefers else "semantic"


def preference_name(text: str) -> str:
    """Return the name under which the preference in *text* is stored.

    Letter case and white space make no difference. A text that states several
    preferences, or one without a plain topic, is named by its hash.

    >>> preference_name("Well, my favourite editor is Vim.")
    'favorite_editor'
    >>> preference_name("I prefer tabs over spaces for indentation")
    'prefer_spaces_or_tabs_for_indentation'
    >>> preference_name("i  prefer tea")
    'preference_1297c0bee1b6'
    """
    statements = list(_statements(text))
    name = _topic_name(statements[0]) if len(statements) == 1 else None
    return name or _hash_name(text)


def is_of_project(text: str) -> bool:
    """Return whether *text* speaks of the project that it is said in: it holds nowhere else.

    >>> is_of_project("In this repo I prefer tabs"), is_of_project("I prefer tabs in repos")
    (True, False)
    """
    return bool(re.search(_OF_PROJECT, text, re.IGNORECASE))


def project_preference_name(text: str, project_id: str) -> str:
    """Return the name of a preference that holds in one project: each project has its own.

    >>> project_preference_name("In this repo I prefer tea.", "/a")
    'preference_b3d7cdfca3fe'
    """
    return _hash_name(f"{project_id}\n{text}")


def _is_directive(text: str) -> bool:
    """Return whether *text* is one sentence that tells how to work from now on."""
    folded = " ".join(text.split())
    if len(folded) > _SENTENCE_CHARS_MAX or folded.endswith("?") or len(sentences(folded)) != 1:
        return False
    without_place = _IN_PROJECT.sub("", folded)
    return begins_directive(without_place) or _RULES_OUT.match(folded) is not None


def _statements(text: str) -> list[str]:
    """Return the sentences that state a preference; one with two signals counts twice."""
    return [
        sentence
        for line in filter(SIGNAL.search, text.split("\n"))
        for sentence in sentences(line)
        if not (sentence.endswith("?") and _ASKS.match(sentence))
        for signal in SIGNAL.finditer(sentence)
        if not _BEFALLS.match(sentence, signal.start())
    ]


def _topic_name(sentence: str) -> str | None:
    if sentence.endswith("?") or len(sentence) > _SENTENCE_CHARS_MAX:
        return None
    folded = " ".join(sentence.lower().split()).rstrip(".!")
    return _favourite_name(folded) or _choice_name(folded) or _habit_name(folded)


def _favourite_name(sentence: str) -> str | None:
    match = _FAVOURITE.search(sentence) or _IS_FAVOURITE.search(sentence)
    if not match or _CONDITION.intersection(match["value"].split()):
        return None
    if _POINTING.search(match["topic"]):
        return None
    words = match["topic"].split()
    words[-1] = _singular(words[-1])
    return _name("favorite", words)


def _choice_name(sentence: str) -> str | None:
    """Name a choice by both sides in order, so that the opposite choice has the same name."""
    match = _OVER.search(sentence)
    if not match:
        return None
    one, other = sorted((_strip_articles(match["one"]), _strip_articles(match["other"])))
    where = _strip_articles(match["where"] or "")
    words = [*one.split(), "or", *other.split(), *(["for", *where.split()] if where else [])]
    if not one or not other or _POINTING.search(f"{one} {other} {where}"):
        return None
    return _name("prefer", words)


def _habit_name(sentence: str) -> str | None:
    match = _ALWAYS.search(sentence)
    if not match:
        return None
    habit = _strip_articles(match["what"])
    return None if _POINTING.search(habit) else _name("always", habit.split())


def _strip_articles(phrase: str) -> str:
    return " ".join(word for word in phrase.split() if word not in _ARTICLES)


def _singular(word: str) -> str:
    """Remove a plain plural: of "editors" and "dishes", but not "glass", "gas" or "series"."""
    return _PLURAL.sub("", word)


def _name(kind: str, words: list[str]) -> str | None:
    slug = "_".join(filter(None, (_NON_WORD.sub("_", word).strip("_") for word in words)))
    return f"{kind}_{slug}" if slug else None


def _hash_name(text: str) -> str:
    folded = " ".join(text.lower().split())
    return "preference_" + hashlib.sha256(folded.encode()).hexdigest()[:12]


# Which preference a later sentence takes back. Both must be about the same words, but for those
# that two such sentences share: what is wanted, and that it is so now. What only sounds like it
# leaves a preference where it is: one that is told twice is noticed, one that is gone is not.

_CHANGE_CHARS_MAX = 160  # of a sentence; a longer one is about more
_I = (
    r"^\W*(?:(?:well|so|and|also|actually|no|yes|ok(?:ay)?|btw|by the way|sorry|from now on),? )*"
    r"i (?:(?:now|actually|really|just|still|always|also) )*"
)
_NOW = r"(?:,? (?:now|any ?more|any longer|after all|again|these days|at all))*(?:\W*$|[,;] )"
_WANTS = r"(?:prefer|want|need|use|like|love|enjoy|eat|drink|take|read|write)"
_NOT = r"(?:do not|don't|no longer|never)"
_FOR = r"(?= (?:over|rather than|instead of|because|since|as|for|when|if|so)\b|[,;]|\W*$)"
_WANTED = re.compile(rf"{_I}{_WANTS} (?P<what>.+?){_FOR}")
_HATED = re.compile(rf"{_I}(?:hate|dislike|can't stand) (?P<what>.+?){_FOR}")
_NOT_WANTED = re.compile(rf"{_I}{_NOT} {_WANTS} (?P<what>.+?){_NOW}")
_NOT_HATED = re.compile(rf"{_I}{_NOT} (?:hate|dislike) (?P<what>.+?){_NOW}")
_LIKES = re.compile(rf"{_I}(?:like|love|enjoy|prefer) (?P<what>.+?){_NOW}")
_HATES = re.compile(rf"{_I}(?:hate|dislike|can't stand) (?P<what>.+?){_NOW}")
_INSTEAD = re.compile(
    rf"{_I}(?:prefer|want|use|take) (?P<one>.+?) (?:over|rather than|instead of)"
    rf" (?P<what>.+?){_NOW}"
)


class _Wish(NamedTuple):
    """What somebody wants, or hates, by its stems."""

    is_wanted: bool
    stems: frozenset[str]


def may_take_back(text: str) -> bool:
    """Return whether a sentence of *text* may take a preference back."""
    return any(_list_withdrawn(sentence) for sentence in _plain_sentences(text))


def takes_back(text: str, value: str) -> bool:
    """Return whether *text* takes the preference *value* back.

    >>> takes_back("I now prefer imperial units instead of metric.", "I prefer metric units")
    True
    >>> takes_back("I actually love cilantro now", "I hate cilantro")
    True
    >>> takes_back("I don't want short answers any more", "I prefer short answers to mails")
    False
    """
    wishes = [wish for sentence in _plain_sentences(value) if (wish := _parse_wish(sentence))]
    if len(wishes) != 1:
        return False
    return any(
        _is_same(withdrawn, wishes[0])
        for sentence in _plain_sentences(text)
        for withdrawn in _list_withdrawn(sentence)
    )


def _plain_sentences(text: str) -> list[str]:
    text = text.lower().replace("\u2019", "'")
    each = (" ".join(sentence.split()) for sentence in sentences(text))
    return [one for one in each if len(one) <= _CHANGE_CHARS_MAX and not one.endswith("?")]


def _parse_wish(sentence: str) -> _Wish | None:
    for pattern, is_wanted in ((_WANTED, True), (_HATED, False)):
        if match := pattern.match(sentence):
            return _Wish(is_wanted, content_stems(match["what"]))
    return None


def _list_withdrawn(sentence: str) -> list[_Wish]:
    """Return what no longer holds when *sentence* is said."""
    over = _INSTEAD.match(sentence)
    if over is not None:
        # "imperial units instead of metric": what both share is often said once.
        shared = content_stems(over["one"])
        what = content_stems(over["what"])
        return [_Wish(True, what), *(_Wish(True, what | {stem}) for stem in shared)]
    patterns = ((_NOT_WANTED, True), (_HATES, True), (_NOT_HATED, False), (_LIKES, False))
    return [
        _Wish(is_wanted, content_stems(match["what"]))
        for pattern, is_wanted in patterns
        if (match := pattern.match(sentence))
    ]


def _is_same(one: _Wish, other: _Wish) -> bool:
    return one == other and bool(one.stems)
