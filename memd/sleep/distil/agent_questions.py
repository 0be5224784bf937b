"""Find the agent's last question, and decide whether a message may answer it. Pure.

No message answers a courtesy such as "How can I help?". Two words may answer "How do you take your
coffee?" with a lasting fact.
"""

from __future__ import annotations

import re

from memd.sleep.distil.language.replies import chooses, split_asked
from memd.sleep.distil.language.words import content_words
from memd.sleep.distil.user.speech_acts import Act, approves, judge
from memd.text.alternations import Phrases

ASKED_CHARS = 300
"""The length of the end of the agent's text that may have its question."""
_WORD_CHARS = 4
REPLY_CHARS, REPLY_WORDS = 160, 4
"""The most characters of an answer, and the most words of its first clause."""
_NO_REPLY = frozenset({Act.QUESTION, Act.REQUEST})
CLAUSE_END = re.compile(r"[,;:!]\s|\.(?:\s|$)|\s[-\u2013\u2014]\s")
ASKS_BARE = re.compile(
    r"\W*(?:(?:ok(?:ay)?|so|and|sure|then)\W+)*(?:which|what|where|when|who|how|why)"
    r"(?: ones?| of (?:these|those|them|the two))?\W*",
    re.IGNORECASE,
)
"""A question that names nothing: "Which one?"."""
ASKS_WHICH = Phrases(
    r"\b(?:which|what|where|who|when|how (?:many|much|long|often|big)|welche\w*|wo|wer|wann"
    r"|wie (?:viele?|lange|oft)|quel\w*|combien|cuál\w*|cuánt\w*|qual\w*|quant\w*|welke?)\b"
)
_BEGINS_NO = re.compile(
    r"\W*(?:no|nope|nah|not|never|don'?t|only|just|neither|both|none|all|either|the|ne(?:in|e)|non)\b",
    re.IGNORECASE,
)
# The beginning of a message about something else.
_CHANGES_SUBJECT = re.compile(
    r"\W*(?:oh|btw|by the way|anyway|also|unrelated|before i forget)\b", re.I
)
_KNOWS_NOT = Phrases(
    r"\b(?:not sure|no idea|dunno|(?:don't|do not|dont) know|no clue|why do you|none of your"
    r"|skip (?:it|that)|never ?mind|it depends|depends)\b"
)
_ELLIPSIS_WORDS = 3
# Questions that need no answer: a greeting, an offer of more, "how does that sound?".
_COURTESY = Phrases(
    r"\b(?:how (?:can|may|could) i help|what can i (?:do|help|get)"
    r"|how (?:are|were|is|was|'?s) (?:you|your|it|things|the|everything)\b(?! (?:old|tall))"
    r"|what(?:'s| is) (?:up|new|on your mind|going on|next|the plan|happening)"
    r"|(?:need|want|is there|was there)? ?anything (?:else|i can|more)"
    r"|how (?:does|do|would) (?:that|this|these|they) (?:sound|look|feel)"
    r"|(?:does|do) (?:that|this|these) (?:sound|work|help|make sense)|sounds? good|make sense"
    r"|what do you (?:think|reckon)|(?:any|other|more) questions"
    r"|(?:where|how) (?:shall|should|do|would) (?:we|you) (?:start|begin|like)"
    r"|what (?:would|do|did) you (?:like|want|feel like)(?: me)? to (?:talk|chat|do|work|know|hear"
    r"|start|discuss|tackle|focus)|what are you (?:up to|doing|thinking|planning)|all good"
    r"|fair enough|what(?:'s| is) the (?:occasion|matter|story))\b"
)
# A question about a lasting fact: its answer lasts, however short it is.
_WHO = r"(?:you|(?!(?:it|this|that|the|these|those|i|we|there)\b)[a-z]\w+)"
_ASKS_FACT = Phrases(
    rf"\b(?:do|does) (?:you|he|she|they|your \w+|anyone|{_WHO})"
    r" (?:(?:all|both|usually|normally|always|still) )*"
    r"(?:eat|drink|take|use|deploy|live|work|prefer|like(?! (?:me|it|this|that|the|to)\b)|run|drive"
    r"|speak|own|smoke|cook|target|support|write|wear|sleep|pay|go by|follow|test|release|ship)\b"
    rf"|\b(?:do|does) {_WHO} have (?:any )?(?:allerg\w+|kids|children|pets|siblings|dietary|food"
    r"|preferences?|a (?:preferred|favou?rite|usual|deadline|budget|dog|cat|car|partner))\b"
    r"|\b(?:what|when|where|who)(?:'s| is| are) (?:your|his|her|their) (?:\w+ )?(?:name|surname|age"
    r"|budget|address|job|role|birthday|anniversary|stack|set ?up|team|phone|number|e-?mail"
    r"|time ?zone|size|weight|height|blood|goal|diet|usual|deadline|manager|boss|doctor|dentist"
    r"|school)\b"
    r"|\b(?:what|when)(?:'s| is) the (?:deadline|budget|limit|due date|address)\b"
    rf"|\b(?:which|what) [\w-]+(?: [\w-]+)? do(?:es)? {_WHO} (?:use|prefer|target|run|live|support"
    r"|take|drink|eat|have|work|deploy|play|speak|drive)\b(?! to\b)"
    rf"|\b(?:how|where|when) do(?:es)? {_WHO} (?:usually |normally )?(?:take|like|live|work|deploy"
    r"|run|drink|eat|start|finish|park|keep|store)\b(?! (?:me|it|this|that|to)\b)"
    r"|\bwho (?:usually |normally )?(?!is|was|does)\w+s (?:the|your)\b"
    r"|\bhow (?:old|tall) (?:is|are) (?!the (?:log|file|backup|version|build))"
    r"|\bhow many (?:kids|children|people (?:are|live)|users|pets|siblings)\b"
    rf"|\b(?:are|is) {_WHO} (?:allergic|vegetarian|vegan|diabetic|pregnant|married|left-handed)\b"
    r"|\bany(?:one)? (?:\w+ )?(?:allerg\w+|dietary|restrictions|requirements|preferences)\b"
)


# A question for a value: "what's the port of the new host?". Errors and results are temporary.
_ASKS_VALUE = re.compile(
    r"\b(?:what|which|where)(?:'s|\u2019s| is| are) (?:the|your|its|their)\b"
    r"(?![^?]*\b(?:errors?|messages?|problems?|issues?|bugs?|output|status|result|reason|plan|goal)\b)",
    re.IGNORECASE,
)
_BEGINS_VALUE = re.compile(
    r"(?:\w+ ){0,2}(?:v?\d{2,}|v?\d+[.:]\d|\S+@\w|~?/\w|https?:|[\w-]+\.[a-z]{2,}\b)", re.IGNORECASE
)


def is_courtesy(question: str) -> bool:
    """Return whether the agent's *question* is a courtesy, which no message answers.

    >>> is_courtesy("How can I help today?"), is_courtesy("How old is she?")
    (True, False)
    """
    return _COURTESY.search(question) is not None


def asks_for_fact(question: str) -> bool:
    """Return whether the agent's *question* asks for a lasting fact.

    >>> asks_for_fact("How do you take your coffee?"), asks_for_fact("How do you want to go on?")
    (True, False)
    """
    return _ASKS_FACT.search(question) is not None


def gives_value(question: str, user: str) -> bool:
    """Return whether *user* begins with the value that the agent's *question* asks for.

    >>> gives_value("What's the port of the new host?", "2222 on the new one, same key")
    True
    >>> gives_value("What's the error message?", "502 bad gateway")
    False
    """
    is_short = len(user) <= REPLY_CHARS and not user.endswith("?")
    return (
        is_short
        and _ASKS_VALUE.search(question) is not None
        and _BEGINS_VALUE.match(user) is not None
    )


def last_question(text: str) -> str:
    """Return the last question at the end of the agent's *text*, "" without one."""
    parts = reversed(split_asked(text[-ASKED_CHARS:]))
    return next((part for part in parts if "?" in part), "")


def may_answer(question: str, text: str, user: str) -> bool:
    """Return whether *user* may answer the *question* at the end of the agent's *text*.

    It may if it is elliptic, if the question is an open one, or if both have a word in common.

    >>> asked = "Should I retry refunds?"
    >>> may_answer(asked, asked, "no, never"), may_answer(asked, asked, "we use tabs in this repo")
    (True, False)
    >>> may_answer("How are you?", "Good morning! How are you?", "mum is 80 now")
    False
    """
    if not question or is_courtesy(question) or _CHANGES_SUBJECT.match(user):
        return False
    if _is_elliptic(user):
        return True
    is_open = chooses(question) or ASKS_WHICH.search(question) is not None
    return is_open or bool(long_words(user) & long_words(text))


def _is_elliptic(user: str) -> bool:
    """Return whether *user* agrees, declines, or has at most three words."""
    begins = approves(user) or _BEGINS_NO.match(user) is not None
    return begins or len(user.split()) <= _ELLIPSIS_WORDS


def answers_with_fact(user: str) -> bool:
    """Return whether *user* begins with an answer to a question for a fact.

    >>> answers_with_fact("9 and 5")
    True
    >>> answers_with_fact("not sure")
    False
    >>> answers_with_fact("what do you need it for?")
    False
    """
    if len(user) > REPLY_CHARS or _KNOWS_NOT.search(user) or _CHANGES_SUBJECT.match(user):
        return False
    if not approves(user) and judge(user).act in _NO_REPLY:
        return False
    begun = next(filter(str.strip, CLAUSE_END.split(user)), "")
    return _is_elliptic(user) or len(begun.split()) <= REPLY_WORDS


def long_words(text: str) -> frozenset[str]:
    """Return the content words of *text* that are long enough to indicate its subject."""
    return frozenset(word for word in content_words(text) if len(word) >= _WORD_CHARS)
