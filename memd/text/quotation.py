"""Words in a message that are not its writer's own: dictated, played, or said by somebody else.

"Text Naz: please never park there" asks for a text, "my sister says I always talk too much" tells
of the sister. Neither is what the writer wants from now on. Only what plainly begins so counts.
Pure.
"""

from __future__ import annotations

import re

_WORD = r"[\w'\u2019-]{1,30}"
_LEAD = (
    r"^\W{0,8}+(?:(?:(?:can|could|would|will) you|please|pls|now|then|and|also|ok(?:ay)?|just|so"
    r"|help me|i(?:'d| would)? (?:want|like|need) you to)\b\W{0,8}+){0,4}"
)
_PEOPLE = r"(?:him|her|them|everyone|everybody|mum|mom|mummy|dad|grandma|grandpa|nan)"
# "Text Naz", "email the school"; but "text colour", "Email Address" are no people.
_TO_WHOM = (
    rf"(?:{_PEOPLE}|(?:my|our|the|his|her|their) (?:{_WORD} ){{0,2}}?{_WORD}"
    r"|(?!(?:address|colou?r|size|format|template|server|queue|field|body|subject|type|style|box"
    r"|area|input|editor|file|bus|broker|id|list|claude|codex|copilot|cursor)\b)"
    rf"(?-i:[A-Z]){_WORD}(?: (?-i:[A-Z]){_WORD})?)"
)
_DICTATES = re.compile(
    rf"{_LEAD}(?:(?:text|e-?mail|mail|message|dm|whatsapp|sms|tell) {_TO_WHOM}"
    r"|(?:write|reply|respond|answer|send|say|text|e-?mail|mail|message)(?: back)?"
    rf"(?: an? [\w-]+)? to (?:{_TO_WHOM}|{_WORD})"
    r"|(?:say|reply|respond)(?: back| something like)?"
    r"|(?:translate|put|say)(?: (?:this|that|it|the following))? (?:in)?to (?:\w+ )?\w+"
    r"|how do (?:i|you) say(?: this| that)? in \w+"
    r"|(?:correct|proofread|rephrase|rewrite|reword|polish|shorten) (?:this|that|it|the following"
    r"|my (?:text|mail|email|message|letter|note)))"
    r"\s*:[ \t]*(?=\S)",
    re.IGNORECASE,
)
_DICTATED = " …"
_PLAYS = re.compile(
    rf"{_LEAD}(?:pretend|imagine|suppose|role-?play|act (?:as|like)|play the"
    r"|(?:write|tell|make up|compose|draft|create|generate|give|invent|continue)(?: me| us)?"
    r" (?:an?|the|some|another|one)(?: [\w-]+){0,3} (?:stor(?:y|ies)|poems?|songs?|jokes?|lyrics"
    r"|scenes?|dialogues?|dialogs?|plays?|monologues?|letters?|speech(?:es)?|toasts?|limericks?|haikus?"
    r"|captions?|tweets?|raps?|essays?|fables?|fairy tales?))\b",
    re.IGNORECASE,
)
_PERSON = (
    rf"(?:(?:my|our|his|her|their|the|a|an|some|this|that) (?:{_WORD} ){{0,2}}?{_WORD}"
    r"|he|she|they|someone|somebody|everyone|everybody|people|mum|mom|mummy|dad|grandma|grandpa|nan"
    rf"|(?!(?:i|it|this|that|you|we|there|here|what|which|who|he|she)\b)(?-i:[A-Z]){_WORD})"
)
_SAYS = (
    r"(?:(?:just|always|also|once|keeps?|still|now) )?"
    r"(?:says?|said|saying|tells? (?:me|us)|told (?:me|us)|thinks?|thought|reckons?|claims?|claimed"
    r"|swears?|swore|insists?|insisted|believes?|argues?|complains?|complained|texted|wrote)"
)
_REPORTS = re.compile(
    r"^\W{0,8}+(?:(?:and|but|so|well|oh|also|because|cos|ugh|haha|lol|btw|apparently)"
    r"\b\W{0,8}+){0,3}"
    rf"{_PERSON} {_SAYS}(?: that)?\b(?!\W{{0,8}}$)",
    re.IGNORECASE,
)
# Whoever one works for or with says how it is to be done.
_AUTHORITY = re.compile(
    r"\b(?:our|boss|manager|lead|client|customer|legal|compliance|security|ops|team|board|cto|ceo|pm"
    r"|owner|docs?|documentation|spec|guide|policy|contract|doctor|gp|dentist|physio|midwife|nurse"
    r"|consultant|surgeon|vet|pharmacist|landlord|lawyer|solicitor|accountant|teacher|school"
    r"|mechanic)\b",
    re.IGNORECASE,
)


def without_dictation(line: str) -> str:
    """Return *line* without the text that it dictates to somebody.

    >>> without_dictation("text Naz: please never park there"), without_dictation("Note: no tabs")
    ('text Naz: …', 'Note: no tabs')
    """
    dictates = _DICTATES.match(line)
    return line if dictates is None else f"{dictates[0].rstrip()}{_DICTATED}"


def is_played(sentence: str) -> bool:
    """Return whether *sentence* asks for a text or a part that somebody else speaks, or dictates.

    >>> is_played("pretend you're my boss and I hate mondays"), is_played("I hate mondays")
    (True, False)
    """
    return sentence.endswith(f":{_DICTATED}") or _PLAYS.match(sentence) is not None


def is_reported(sentence: str) -> bool:
    """Return whether *sentence* tells what somebody says who has no say in what is done here.

    >>> is_reported("my sister says I always talk too much"), is_reported("I say no")
    (True, False)
    >>> is_reported("my boss says we always deploy on Mondays")
    False
    """
    report = _REPORTS.match(sentence)
    return report is not None and _AUTHORITY.search(report[0]) is None


def is_told_by_others(sentence: str) -> bool:
    """Return whether *sentence* tells what somebody else says, whoever it is."""
    return _REPORTS.match(sentence) is not None
