"""Recognise words in a message that are not the writer's own. Pure.

They are dictated ("Text Naz: please never park there"), spoken by a character ("pretend you're my
boss"), or reported ("my sister says I always talk too much"). None of them is a wish of the
writer. Only sentences that begin like these examples are recognised.
"""

from __future__ import annotations

import re
from itertools import pairwise

from memd.text.alternations import Phrases
from memd.text.harms import states_health_risk
from memd.text.words import sentences

_WORD = r"[\w'\u2019-]{1,30}"
_LEAD = (
    r"^\W{0,8}+(?:(?:(?:can|could|would|will) you|please|pls|now|then|and|also|ok(?:ay)?|just|so"
    r"|help me|i(?:'d| would)? (?:want|like|need) you to)\b\W{0,8}+){0,4}"
)
_PEOPLE = r"(?:him|her|them|everyone|everybody|mum|mom|mummy|dad|grandma|grandpa|nan)"
# "Text Naz" and "email the school" address people; "text colour" and "Email Provider" do not. A
# message to the agents, the team or the notes ("tell the agents: no tabs") is a rule.
_NO_PEOPLE = (
    r"(?:(?:other |sub-?)?agents?|models?|assistants?|ai|bot|team|reviewers?|memory|notes?|logs?"
    r"|users?|customers?|clients?|console|file|files|claude|codex|copilot|cursor|gemini)\b"
)
_ADDRESSEE = (
    rf"(?:{_PEOPLE}|(?:my|our|the|his|her|their) (?!{_NO_PEOPLE})(?:{_WORD} ){{0,2}}?"
    rf"(?!{_NO_PEOPLE}){_WORD}"
    rf"|(?!{_NO_PEOPLE})(?-i:[A-Z]){_WORD}(?: (?-i:[A-Z]){_WORD})?)"
)
_VERB = r"(?-i:text|e-?mail|mail|message|dm|whatsapp|sms|tell)"  # a heading has a capital
_DICTATES = Phrases(
    rf"{_LEAD}(?:(?:{_VERB} {_ADDRESSEE}|(?:text|e-?mail|mail|message|tell) (?:{_PEOPLE}"
    rf"|(?:my|our|his|her|their) (?!{_NO_PEOPLE}){_WORD}))"
    r"|(?:write|reply|respond|answer|send|say|text|e-?mail|mail|message)(?: back)?"
    rf"(?: an? [\w-]+)? to {_ADDRESSEE}"
    r"|translate(?: (?:this|that|it|the following))? (?:in)?to (?:\w+ )?\w+"
    r"|how do (?:i|you) say(?: this| that)? in \w+"
    r"|(?:correct|proofread|rephrase|rewrite|reword|polish|shorten) (?:this|that|it|the following"
    r"|my (?:text|mail|email|message|letter|note)))"
    r"\s*:[ \t]*(?=\S)"
)
_DICTATED = " …"
"""Replaces a dictated text."""
# "Pretend ...", "tell me a joke"; but "tell me a joke at the end of every answer" is a wish.
_PLAYS = Phrases(
    rf"{_LEAD}(?:pretend|role-?play)\b"
    rf"|{_LEAD}(?:imagine|suppose|(?:write|tell|make up|compose|draft|create|generate|give|invent)"
    r"(?: me| us)? (?:an?|some|another|one)(?: [\w-]+){0,3} (?:stor(?:y|ies)|poems?|songs?|jokes?"
    r"|lyrics|scenes?|dialogues?|plays?|monologues?|letters?|speech(?:es)?|toasts?|limericks?"
    r"|haikus?|tweets?|raps?|essays?|fables?|fairy tales?))\b"
    r"(?!.*\b(?:every|each|from now on|whenever|always (?:explain|give|end|begin|add|write))\b)"
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
_OPENING = (
    r"^\W{0,8}+(?:(?:and|but|so|well|oh|also|because|cos|ugh|haha|lol|btw|apparently)"
    r"\b\W{0,8}+){0,3}"
)
_REPORTS = Phrases(rf"{_OPENING}{_PERSON} {_SAYS}(?: that)?\b(?!\W{{0,8}}$)")
# Opinions of relatives and friends about the user, and their advice. Instructions by others (a
# doctor, a supervisor, somebody by name) may be rules: "my therapist said I must not drink".
_OPINES = Phrases(
    rf"{_OPENING}(?:(?:my|our|his|her) (?:[\w-]{{1,20}} )?(?:friends?|mates?|mum|mom|dad|mother"
    r"|father|parents|sister|brother|aunt|uncle|cousin|grandma|grandpa|nan|wife|husband|partner"
    r"|girlfriend|boyfriend|flatmate|roommate|neighbou?rs?|kids?|son|daughter|ex)"
    r"|he|she|someone|somebody|everyone|everybody|people|mum|mom|dad|grandma|grandpa|nan) "
    rf"(?!told (?:me|us) (?:never |not )?to\b){_SAYS}(?: that)?"
    r"(?! (?:i|we) (?:must|mustn't|have to|need to|should|can't|cannot|am|'m|may)\b)"
    r"\b(?=.* (?:i|you)\b)"
)
# What takes back the statement behind it: "forget that I hate fish", but not "don't forget that".
_DISCLAIMS = Phrases(
    r"^\W{0,8}+(?:(?:please|pls|ok(?:ay)?|and|so|now|well|actually|just|you can|can you|you should"
    r"|bitte|por favor),? ){0,4}+"
    r"(?:(?:forget|ignore|disregard)(?: about)?(?: the fact)?"
    r"|(?:stop|quit) (?:remembering|assuming|thinking|believing|saying)"
    r"|(?:it's|it is|its) (?:no longer|not) (?:true|the case)(?: any ?more)?"
    r"|vergiss(?: bitte)?,?|es stimmt nicht(?: mehr)?,?|oublie|olvida|ya no es (?:verdad|cierto))"
    r" (?:that |dass |qu(?:e |'))?"
)
_STATEMENT = Phrases(r"^(?:i|my|ich|je|j'\w+)\b")
# "Helix is no longer my favourite editor".
_NO_LONGER = Phrases(r"\b(?:is|are) (?:no longer|not) my favou?rite\b")


def without_dictation(line: str) -> str:
    """Return *line* with a dictated text replaced by an ellipsis.

    A dictated text that says what would harm somebody stays (``states_health_risk``).

    >>> without_dictation("text Naz: please never park there"), without_dictation("Note: no tabs")
    ('text Naz: …', 'Note: no tabs')
    """
    dictates = _DICTATES.match(line)
    if dictates is None or states_health_risk(line[dictates.end() :]):
        return line
    return f"{dictates[0].rstrip()}{_DICTATED}"


def is_played(sentence: str) -> bool:
    """Return whether *sentence* asks for a role play or a literary text, or dictates a text.

    >>> is_played("pretend you're my boss and I hate mondays"), is_played("I hate mondays")
    (True, False)
    >>> is_played("give me a joke"), is_played("give me a joke at the end of every answer")
    (True, False)
    """
    return sentence.endswith(f":{_DICTATED}") or _PLAYS.match(sentence) is not None


def is_opinion(sentence: str) -> bool:
    """Return whether *sentence* reports a relative's or friend's opinion of the user, or advice.

    >>> is_opinion("my sister says I always talk too much"), is_opinion("I say no")
    (True, False)
    >>> is_opinion("my therapist said I must not drink"), is_opinion("dad told me never to lend")
    (False, False)
    """
    return _OPINES.match(sentence) is not None


def is_reported_speech(sentence: str) -> bool:
    """Return whether *sentence* reports what somebody else says or thinks."""
    return _REPORTS.match(sentence) is not None


def disclaimed_part(sentence: str) -> str:
    """Return the statement that *sentence* says to forget or to be no longer true, "" for none.

    >>> disclaimed_part("please forget that I hate fish"), disclaimed_part("don't forget that")
    ('I hate fish', '')
    """
    disclaims = _DISCLAIMS.match(sentence)
    return sentence[disclaims.end() :] if disclaims else ""


_NAMES_FIRST = re.compile(
    r"(?P<topic>\b(?:(?:the|my) (?:thing|rule|wish|preference) (?:about|for|of|on|with)"
    r"|what i (?:said|told you|wrote) about) [^:;,.?!\u2013\u2014]{2,60}?)"
    r"\s{0,3}+[:;,\u2013\u2014-]{1,3}+\s{0,3}+(?:(?:please|pls|just|you can) ){0,2}+"
    r"(?:forget|ignore|scrap|drop|delete|remove)(?: about)? (?:that|it|this)\b",
    re.IGNORECASE,
)


def name_last(text: str) -> str:
    """Return *text* in which "forget" comes before what is to be forgotten.

    >>> name_last("the rule about emojis: drop it, please")
    'forget the rule about emojis, please'
    """
    return _NAMES_FIRST.sub(r"forget \g<topic>", text)


def is_disclaimed(sentence: str) -> bool:
    """Return whether *sentence* only says what no longer holds.

    >>> is_disclaimed("stop remembering that I hate fish"), is_disclaimed("Forget it, I hate fish")
    (True, False)
    """
    part = disclaimed_part(sentence)
    starts = _STATEMENT.match(part) is not None
    return starts or _NO_LONGER.search(sentence) is not None


# A question with which a sentence begins, up to what else the sentence says: "why is it red, ...".
_QUESTION = re.compile(
    r"\W{0,8}+(?:(?:and|but|so|then|now|well|ok(?:ay)?|hey|hm+|wait|no)\W{1,8}+){0,3}"
    r"(?:how come\b|(?:what|which|who|where|when|why|how)(?:['\u2019]?s|['\u2019]re"
    r"| (?:is|are|am|was|were|do|does|did|can|could|will|would|should|has|have|not))\b(?! more\b))"
    r"(?:(?![.?!]\s|\b(?:when|though|although|while) (?:you know|i)\b)[^,;:\u2013\u2014])*+"
    r"(?:[,;:\u2013\u2014]|when|though|although|while|$)\s*(?:(?:as )?you know,? (?:that )?)?",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\b(?:that|this|it|these|those|them)(?=\W*$|[,;])", re.IGNORECASE)


def without_question(sentence: str) -> str:
    """Return what *sentence* says behind the question with which it begins, "" if it only asks.

    Unchanged with a question mark at the end.

    >>> without_question("and why is it red again, you know I hate red")
    'I hate red'
    >>> without_question("when I travel, I prefer trains")
    'when I travel, I prefer trains'
    """
    question = None if sentence.endswith("?") else _QUESTION.match(sentence)
    return sentence[question.end() :] if question else sentence


def list_remarks(text: str) -> list[str]:
    """Return the sentences of *text* without dictated ones and without questions before remarks.

    A remark that only points to the question before it ("You know I hate that") is left out.
    """
    spoken = sentences(without_dictation(text))
    remarks = [
        (part, without_question(part), before.endswith("?"))
        for before, part in pairwise(("", *spoken))
    ]
    return [
        remark
        for part, remark, is_behind in remarks
        if remark and not ((is_behind or remark != part) and _POINTS.search(remark))
    ]
