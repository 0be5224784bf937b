"""Detect preferences, and derive the names under which they are stored (SPEC 1.7.5, D5).

A preference is named by its topic, if its words tell the topic. A new statement then replaces the
old one: "my favourite editor is Vim", and a year later "my favourite editor is Helix". Otherwise
the name is a hash of the words, and two wordings are two preferences. In doubt a preference is
named by the hash: one stored twice is noticed and fixed, one overwritten by a preference about
another topic is lost silently.
"""

from __future__ import annotations

import hashlib
import re
from itertools import islice

from memd.text.directives import (
    answer_language,
    begins_directive,
    has_lasting_order,
    used_things,
    without_reason,
)
from memd.text.quotation import is_disclaimed, is_played, is_reported_speech, list_remarks
from memd.text.wishes.lasting import has_wish
from memd.text.words import content_stems, sentences

SIGNAL = re.compile(
    r"\b(?:I\s+(?:(?:now|still|really|actually|generally|usually)\s+)?(?:prefer|always|hate)"
    r"|my\s+favou?rite)\b",
    re.IGNORECASE,
)
"""The documented signals (SPEC 1.6.5), in both spellings and also with an adverb."""

# "this repo", "diesem Projekt"; the patterns below: "in this repo, ...", "no tabs in this repo".
_OF_PROJECT = (
    r"\b(?:this (?:very )?(?:repo(?:sitory)?|project|code ?base|workspace|monorepo)|diese[mrs]?"
    r" (?:repo(?:sitory)?|projekt)s?|ce (?:projet|dépôt|repo)|este (?:proyecto|repo(?:sitorio)?"
    r"|projeto)|(?:questo|quest[oa]) (?:progetto|repo(?:sitory)?)|(?:deze|dit) (?:repo|project))\b"
)
_IN_PROJECT = re.compile(
    rf",? ?\b(?:in|for|within|für|dans|pour|en|para|per|voor) {_OF_PROJECT}[,:]?", re.IGNORECASE
)
_RULES_OUT = re.compile(
    rf"(?:no|zero|only) (?:[\w+#-]+ ){{1,5}}(?:in|for) {_OF_PROJECT}[.!]*$", re.IGNORECASE
)

# A relative path such as "docs/plan.md"; neither "~/bin/up.sh" nor "/etc/hosts.txt".
_FILE = re.compile(
    r"(?<![\w~/.-])(?:[\w-]+/)*[\w-]+\.(?:py|tsx|jsx|rs|rb|go|md|sh|json|ya?ml|toml|html|css|tex|sql"
    r"|txt|env|lock)\b",
    re.IGNORECASE,
)

_ASKS = re.compile(
    r"\s*+(?:(?:ok(?:ay)?|and|but|so|or|then|now|well|hey|hi|sorry|please|again)\W+){0,3}"
    r"(?:what|which|who|whom|whose|when|where|why|how|is|are|was|do|does|did|can|could|will|would"
    r"|should|shall|have|has|remember)\b",
    re.IGNORECASE,
)
# An indirect question right before the signal: "remind me which indentation I prefer".
_ASKS_INDIRECTLY = re.compile(
    r"\b(?:(?:remind|tell)\s+me|I\s+(?:forgot|forget)|I\s+(?:can't|don't)\s+(?:remember|know|recall))"
    r"\s+(?:again\s+)?(?:what|which|who|whether|if|how|where)\b[^,;:.]{0,80}$|\b(?:do|did)\s{1,4}$",
    re.IGNORECASE,
)

# Sentences with a signal that state no preference, tried at the signal:
# something done against one's will, "I always forget my umbrella";
_INVOLUNTARY = re.compile(
    r"I\s+always\s+(?:seem\s+to\s+|manage\s+to\s+)?(?:forget|lose|miss|misplace|misread|mistype"
    r"|mix\s+(?:\w+\s+)?up|confuse|wonder|struggle|end\s+up|fail\s+to|fall\s+asleep|oversleep|run\s+out"
    r"|get\s+(?:confused|lost|stuck|nervous|sick|distracted)|cry|laugh|talk\s+too|exaggerate)\b",
    re.IGNORECASE,
)

# the past, "I always wanted to learn the cello", but not "I always need/embed/shed/wed";
_PAST = re.compile(
    r"I\s+always\s+(?:thought|knew|felt|had|was|were|did|went|(?!(?:\w*eed|embed|shed|wed)\b)\w+ed)\b",
    re.IGNORECASE,
)

# a mood of the day, "I hate my job today", but not "I hate it when you add comments";
_MOOD = re.compile(
    r"I\s+(?:\w+\s+)?hate\s+(?:(?:it\s+)?(?:when|how|that)\s+(?!(?:you|u|ya)\b)|my\s+(?:job|boss|life|work"
    r"|commute|colleagues?)\b|to\s+(?:say|ask|admit|bother|be)\b"
    r"|[^.!?]{0,60}?\b(?:today|tonight|right\s+now|this\s+(?:morning|week|time))\b)",
    re.IGNORECASE,
)

# a choice among things at hand, "I prefer the second draft", and news of a favourite, "my favourite
# aunt is visiting". The sentence must end there: "I prefer the second person in letters" is a wish.
_THING = (
    r"(?:ones?|drafts?|versions?|options?|ideas?|titles?|suggestions?|answers?|variants?|choices?"
    r"|designs?|photos?|pictures?|paragraphs?|sentences?|wordings?)"
)
_ENDS = r"(?=\W*$|[,;]|\s+of\s+(?:the|these|those|them)\b|\s+(?:but|so|because)\b)"
_AT_HAND = re.compile(
    r"I\s+(?:\w+\s+)?hate\s+(?:this\s+\w+(?:\s+\w+)?|you(?!\s+\w+ing\b)(?:\s+\w+){0,3}|myself|it\s+here)"
    rf"{_ENDS}|I\s+(?:\w+\s+)?hate\s+(?:ask|say|admitt|bother)ing\b"
    rf"|I\s+(?:\w+\s+)?prefer\s+(?:not\s+to\s+(?:think|say)(?:\s+about\s+(?:it|that|this))?"
    rf"|(?:this|that|these|those)(?:\s+{_THING})?"
    rf"|the\s+(?:first|second|third|last|latter|former|other|old|new|original|previous|next)(?:\s+{_THING})?"
    rf"|the\s+(?:[\w-]+\s+){{0,2}}{_THING}){_ENDS}"
    r"|my\s+favou?rite\s+(?:[\w-]+\s+){1,2}?(?:is|are)\s+(?:coming|visiting|leaving|going|getting|moving"
    r"|calling|having|turning|dying|closing|waiting|staying|back|here|ill|sick|gone|dead|away)\b"
    r"|my\s+favou?rite\s+of\s+(?:the|these|those|them|all)\b",
    re.IGNORECASE,
)
_NO_PREFERENCES = (_INVOLUNTARY, _PAST, _MOOD, _AT_HAND)

# The patterns below match one sentence in lower case from its beginning, because "when I travel, my
# favourite food is ..." is about another topic than "my favourite food is ...".
_LEAD = (
    r"^(?:(?:well|so|and|also|actually|yes|yeah|no|btw|by the way|note|remember|fyi|update),? )?"
    r"(?:that )?"
)
_TOPIC = r"(?P<topic>[\w'+#-]+(?: [\w'+#-]+){0,4}?)"
_FAVOURITE = re.compile(
    rf"{_LEAD}(?:my favou?rite |meine? lieblings){_TOPIC}(?: (?:is|are|ist|sind)\b|:)"
    r"(?P<value>[^,;]*)"
)
_GERMAN_FAVOURITE = re.compile(r"\s*meine? lieblings", re.IGNORECASE)
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
    rf"{_LEAD}i always (?P<habit>(?:use|write|want|work|run|take|drink|eat)(?: [\w+#-]+){{1,4}})$"
)
_SENTENCE_CHARS_MAX = 300  # of one that is named by its topic or counts as a directive
_SIGNALS_MAX = 8  # of one sentence

# Words that begin a condition: "my favourite editor is Vim for Python". Under another condition
# another value may hold, so such a sentence has no topic name.
_CONDITION = frozenset(
    "for when if in on at during with while as für wenn im am an bei beim zum zur mit".split()  # noqa: SIM905
)

# Words whose meaning depends on context: "my favourite one" and "my favourite
# part of it" name no topic.
POINTING = re.compile(
    r"\b(?:the|this|that|these|those|it|its|them|all|here|there|his|her|their|he|she|they|ones?|parts?"
    r"|things?|bit|times?|memory|moments?|way|ever|of|about|so|far|and|or)\b"
)
_REFERS = re.compile(
    r"\b(?:that|this|those|these|it|them|they|ones?|both|either|neither|same|first|second|former"
    r"|latter|others?|too|so)\b",
    re.IGNORECASE,
)
_STEMS_MIN = 3  # "I prefer short answers"; "I prefer rolling" needs its question
# To the first person: "the user's favourite" becomes "my favourite", "the user prefers" "I prefer".
_TO_FIRST_PERSON = (
    (re.compile(r"\b(?:the\s+)?user's\s+(?=favou?rite\b)", re.IGNORECASE), "my "),
    (
        re.compile(
            r"\b(?:the\s+)?user\s+(?P<adverb>(?:now|still|really|generally|usually)\s+)?"
            r"(?P<verb>(?:prefer|hate|always\s+\w+?))s\b",
            re.IGNORECASE,
        ),
        r"I \g<adverb>\g<verb>",
    ),
)
_ARTICLES = frozenset(("a", "an", "the", "my"))
# "s" or "es" of a plain plural: "editors", "dishes", but not "glass", "gas" or "series".
_PLURAL = re.compile(r"(?<=sh|ch)es$|(?<=[a-z]{3})(?<![suix])(?<!sh|ch)(?<!ie)(?<!he)s$")
_NON_WORD = re.compile(r"[^\w+#]+")


def is_preference(text: str) -> bool:
    """Return whether *text* states a preference; a question about one does not.

    >>> is_preference("I prefer tea."), is_preference("What is my favourite tea?")
    (True, False)
    >>> is_preference("I always ask first"), is_preference("I always forget my umbrella")
    (True, False)
    >>> is_preference("I hate it when you add comments"), is_preference("i hate when it rains")
    (True, False)
    >>> is_preference("use tabs, not spaces, from now on"), is_preference("always answer short")
    (True, True)
    """
    states = bool(SIGNAL.search(text) and _statements(text))
    return states or has_lasting_order(text) or has_wish(text)


def is_self_contained(text: str) -> bool:
    """Return whether *text* is one sentence with a preference that needs no question before it.

    >>> is_self_contained("I hate coriander"), is_self_contained("no, I prefer tea over coffee")
    (True, True)
    >>> is_self_contained("I prefer rolling"), is_self_contained("I hate that color")
    (False, False)
    """
    statements = _statements(text) if len(sentences(text)) == 1 else []
    if len(statements) != 1 or _REFERS.search(text):
        return False
    is_hate = re.search(r"\bhate\b", text, re.IGNORECASE) is not None
    return is_hate or _topic_name(text) is not None or len(content_stems(text)) >= _STEMS_MIN


def is_preference_of_user(text: str) -> bool:
    """Return whether *text* says in the third person what the user prefers.

    >>> is_preference_of_user("The user prefers tabs."), is_preference_of_user("Ada prefers tabs.")
    (True, False)
    >>> is_preference_of_user("User always forgets his umbrella")
    False
    """
    first_person = text
    for pattern, replacement in _TO_FIRST_PERSON:
        first_person = pattern.sub(replacement, first_person)
    return first_person != text and is_preference(first_person)


def default_category(text: str, speaker: str | None) -> str:
    """Return the category of a text that is added without one.

    It is "procedural" for a preference of the owner, and for a directive: an added text is
    addressed to the assistants. Any other text is "semantic". *speaker* is None for the owner;
    preferences of others are facts (SPEC D5).

    >>> default_category("I prefer dark mode", None), default_category("I prefer dark mode", "Ann")
    ('procedural', 'semantic')
    >>> default_category("Always answer in German", None), default_category("He naps", "Ann")
    ('procedural', 'semantic')
    """
    prefers = is_preference(text) or _is_directive(text)
    return "procedural" if speaker is None and prefers else "semantic"


def speaks_of_the_moment(sentence: str) -> bool:
    """Return whether every signal in *sentence* is about things at hand or the past.

    False without a signal.

    >>> speaks_of_the_moment("I prefer the second draft"), speaks_of_the_moment("I prefer drafts")
    (True, False)
    """
    sentence = sentence[:_SENTENCE_CHARS_MAX]
    signals = list(SIGNAL.finditer(sentence))
    return bool(signals) and all(
        _AT_HAND.match(sentence, signal.start()) or _PAST.match(sentence, signal.start())
        for signal in signals
    )


def preference_name(text: str) -> str:
    """Return the name under which the preference in *text* is stored.

    Letter case and white space do not matter. A text with several preferences, or without a plain
    topic, is named by its hash.

    >>> preference_name("Well, my favourite editor is Vim.")
    'favorite_editor'
    >>> preference_name("I prefer tabs over spaces for indentation")
    'prefer_spaces_or_tabs_for_indentation'
    >>> preference_name("i  prefer tea")
    'preference_1297c0bee1b6'
    """
    return _plain_name(text) or _hash_name(text)


def is_of_project(text: str) -> bool:
    """Return whether *text* refers to the current project, so that it holds only there.

    >>> is_of_project("In this repo I prefer tabs"), is_of_project("I prefer tabs in repos")
    (True, False)
    """
    return bool(re.search(_OF_PROJECT, text, re.IGNORECASE))


def names_a_file(text: str) -> bool:
    """Return whether *text* names a file of the current project by a relative path.

    >>> names_a_file("I always read docs/plan.md first"), names_a_file("I prefer ~/bin/up.sh")
    (True, False)
    """
    return _FILE.search(text) is not None


def project_preference_name(text: str, project_id: str) -> str:
    """Return the name of a preference that holds only in the project *project_id*.

    It is the same for the same topic, whether and where *text* says "in this repo".

    >>> project_preference_name("In this repo I prefer tea.", "/a")
    'preference_b3d7cdfca3fe'
    """
    return _hash_name(f"{project_id}\n{_plain_name(_without_place(text)) or text}")


def _is_directive(text: str) -> bool:
    """Return whether *text* is one sentence that tells an assistant how to work."""
    folded = " ".join(text.split())
    if len(folded) > _SENTENCE_CHARS_MAX or folded.endswith("?") or len(sentences(folded)) != 1:
        return False
    return begins_directive(_without_place(folded)) or _RULES_OUT.match(folded) is not None


def _statements(text: str) -> list[str]:
    """Return the sentences that state a preference; a sentence with two signals occurs twice."""
    return [
        sentence
        for line in filter(SIGNAL.search, text.split("\n"))
        for sentence in list_remarks(line)
        if not (is_played(sentence) or is_reported_speech(sentence) or is_disclaimed(sentence))
        for signal in islice(SIGNAL.finditer(sentence), _SIGNALS_MAX)
        if not any(pattern.match(sentence, signal.start()) for pattern in _NO_PREFERENCES)
        if not _is_asked(sentence, signal.start())
    ]


def _is_asked(sentence: str, start: int) -> bool:
    """Return whether the sentence, or the clause of the signal at *start*, is a question."""
    clause_start = max(sentence.rfind(mark, 0, start) for mark in ",;:") + 1
    asks = sentence.endswith("?") and (_ASKS.match(sentence) or _ASKS.match(sentence, clause_start))
    return bool(asks or _ASKS_INDIRECTLY.search(sentence, 0, start))


def _without_place(text: str) -> str:
    """Return *text* in one line, without "in this repo"."""
    return _IN_PROJECT.sub("", " ".join(text.split())).strip()


def _plain_name(text: str) -> str | None:
    """Return the name that the topic of *text* gives, None without a plain topic."""
    statements = _statements(text) or list(filter(_GERMAN_FAVOURITE.match, sentences(text)))
    return _order_name(text) or (_topic_name(statements[0]) if len(statements) == 1 else None)


def _topic_name(sentence: str) -> str | None:
    if sentence.endswith("?") or len(sentence) > _SENTENCE_CHARS_MAX:
        return None
    folded = " ".join(without_reason(sentence).lower().split()).rstrip(".!")
    return _favourite_name(folded) or _choice_name(folded) or _habit_name(folded)


def _order_name(text: str) -> str | None:
    """Return the name of a single sentence that says which language or thing to use."""
    if len(text) > _SENTENCE_CHARS_MAX or len(sentences(text)) != 1:
        return None
    if answer_language(text.strip()) is not None:
        return "answer_language"
    things = used_things(text)
    return _choice_between(*things) if things else None


def _favourite_name(sentence: str) -> str | None:
    match = _FAVOURITE.search(sentence) or _IS_FAVOURITE.search(sentence)
    if not match or _CONDITION.intersection(match["value"].split()):
        return None
    if POINTING.search(match["topic"]):
        return None
    words = match["topic"].split()
    words[-1] = _PLURAL.sub("", words[-1])
    return _name("favorite", words)


def _choice_name(sentence: str) -> str | None:
    """Return the name of a choice between two things, which is also that of the opposite choice."""
    match = _OVER.search(sentence)
    if not match:
        return None
    return _choice_between(match["one"], match["other"], match["where"] or "")


def _choice_between(first: str, second: str, place: str = "") -> str | None:
    one, other = sorted((strip_articles(first), strip_articles(second)))
    where = strip_articles(place)
    words = [*one.split(), "or", *other.split(), *(["for", *where.split()] if where else [])]
    if not one or not other or POINTING.search(f"{one} {other} {where}"):
        return None
    return _name("prefer", words)


def _habit_name(sentence: str) -> str | None:
    match = _ALWAYS.search(sentence)
    if not match:
        return None
    habit = strip_articles(match["habit"])
    return None if POINTING.search(habit) else _name("always", habit.split())


def strip_articles(phrase: str) -> str:
    """Return *phrase*, which is in lower case, without "a", "an", "the" and "my"."""
    return " ".join(word for word in phrase.split() if word not in _ARTICLES)


def _name(kind: str, words: list[str]) -> str | None:
    slug = "_".join(filter(None, (_NON_WORD.sub("_", word).strip("_") for word in words)))
    return f"{kind}_{slug}" if slug else None


def _hash_name(text: str) -> str:
    folded = " ".join(text.lower().split())
    return "preference_" + hashlib.sha256(folded.encode()).hexdigest()[:12]
