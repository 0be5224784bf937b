"""Find what a user pasted of language models and other people, so that it is not stored as theirs.

A model's answer opens with an announcement ("Okay, here are the detailed tasks"), is structured by
bold leads, headings and code, and closes with praise or an offer. People's messages often have one
of these signs, so several are required. Pure.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases

_CHARS_MIN = 600  # of a message; shorter ones are not searched
_SIGNS_MIN = 3  # of: opening, leads, heading, code, closing
_LEADS_MIN = 3
_LEADS_MANY = 12  # with code, more than anybody writes by hand

# An opening, at the start of a line: "Sure, here's the code", "Voici ...".
_OPENS = Phrases(
    r"^[ \t]*(?:"
    r"(?:okay|ok|sure|certainly|alright|absolutely|of course|great|perfect)[,!.] "
    r"(?:here|let['\u2019]s|let us|i have|i['\u2019]ve|i['\u2019]ll|i will|the core|below|to )"
    r"|here(?:['\u2019]s| is| are) (?:the|a|an|your|my|how|what)\b"
    r".{0,80}\b(?:versions?|implementations?|code|files|tasks?|break ?down|summary|guide|snippet"
    r"|improvements|example|plan|explanation|approach|steps)\b"
    r"|let['\u2019]s (?:implement|break|go through|walk through|proceed)\b.{0,300}\bi['\u2019]ll\b"
    r"|your (?:implementation|code|approach|project) (?:looks|is|appears|seems)\b.{0,200}\blet me\b"
    r"|to \w+ .{3,150}, you(?:['\u2019]ll)? need to\b.{0,300}\b(?:below|here)\b"
    r"|(?:voici|bien sûr|d['\u2019]accord[,!] (?:voici|je)|natürlich[,!]"
    r"|hier (?:ist|sind) (?:der|die|das|eine?)|claro[,!]|aquí (?:está|tienes)|certo[,!]|ecco"
    r"|\u043a\u043e\u043d\u0435\u0447\u043d\u043e[,!])"
    r"|(?:\u597d\u7684|\u5f53\u7136)[\uff0c,\uff01!]"
    r")",
    re.IGNORECASE | re.MULTILINE,
)
# A closing, or praise: "let me know if", "key improvements:".
_CLOSES = Phrases(
    r"\b(?:feel free to (?:ask|let me|reach)|let me know (?:if|how|whether)|would you like me to"
    r"|remember (?:to test|that (?:the|reconstructing))|remember to prioriti[sz]e"
    r"|(?:these|this) (?:\w+ ){0,2}(?:files?|tasks?|changes|updates|modifications|refinements?"
    r"|implementation|refactoring|approach|version|completes|aligns) (?:\w+ ){0,3}"
    r"(?:includes?|should|provides?|ensures?|addresse?s?|makes?|centrali[sz]es|handles?|the)\b"
    r"|(?:key|main) (?:changes|improvements|features|benefits|takeaways)(?: and \w+)?:"
    r"|overall assessment|n['\u2019]hésite[sz]? pas|gerne (?:weiter)?helfen)"
)
# A line that starts in bold: "1. **Locks**".
_LEAD = re.compile(r"^[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?\*\*[^*\n]{2,120}\*\*", re.MULTILINE)
# "## Step 2", "### 1. ", "## **Locks**"
_HEADING = re.compile(r"^#{2,4}[ \t]+(?:\*\*|\d{1,2}[.)]|step\b)", re.MULTILINE | re.IGNORECASE)
_ANY_HEADING = re.compile(r"^#{1,4}[ \t]+\S", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*```[a-z]+[ \t]*$", re.MULTILINE)
# An opening code fence right before the end.
_FENCE_ABOVE = re.compile(r"(?:^|\n)[ \t]*```[a-z]*[ \t]*\n\s*\Z")
# Another person's paste: "a user reports this:", "ein Kunde schreibt:".
_OF_OTHERS = Phrases(
    r"\b(?:users?|customers?|clients?|someone|somebody|colleagues?|co-?workers?|reporters?|testers?"
    r"|kund(?:e|en|in)|(?:be)?nutzer(?:in)?|anwender(?:in)?|jemand|kolleg(?:e|en|in))"
    r"(?: (?:(?:on|from|with|in|at|auf|aus|mit|bei|von) \w+|just|also|hat))?"
    r" (?:reports?|reported|says?|said|sent|sends|posted|wrote|writes|complains?|complained|ran"
    r"|(?:gets?|got|has|had|sees|saw) (?:this|these|the following)"
    r"|meldete?|gemeldet|schreibt|schrieb|berichtete?|schickte?"
    r"|(?:bekommt|hat|sieht) (?:das|dies))\b"
    r"|\b(?:from|by|von) (?:an?|one of|our|einem|einer|unserem) (?:\w+ )?"
    r"(?:users?|customers?|clients?|colleague|kund(?:en|in)"
    r"|(?:be)?nutzer(?:in)?|kolleg(?:en|in))\b"
    r"|\b(?:bug|issue|customer|user|crash) reports?\b|\b(?:issue|ticket) #?\d"
    r"|\b(?:bug-?report|fehlerbericht|fehlermeldung eines)\b"
)


def is_from_others(text: str) -> bool:
    """Return whether *text*, which precedes a paste, says that another person sent it.

    >>> is_from_others("A user on Fedora reports:"), is_from_others("As a user I see:")
    (True, False)
    """
    return _OF_OTHERS.search(text) is not None


def answer_span(text: str) -> tuple[int, int] | None:
    r"""Return (start, end) of a model's answer in the user's message *text*, None without one.

    >>> text = "Apply:\n\nOkay, here are the tasks.\n\n**Task 1: Locks**\n\n" + "x" * 600
    >>> answer_span(text + "\n```python\npass\n```\nLet me know if it helps!")
    (8, 698)
    >>> answer_span(text) is None
    True
    """
    if len(text) < _CHARS_MIN:
        return None
    opens = _OPENS.search(text)
    if opens and _count_signs(text[opens.start() :]) >= _SIGNS_MIN:
        fence = _FENCE_ABOVE.search(text[: opens.start()])
        last = text.rfind("```")
        if fence and last > opens.start():  # the answer is a fenced block within the message
            return fence.start(), last + 3
        return opens.start(), len(text)
    leads = list(_LEAD.finditer(text))
    if len(leads) >= _LEADS_MANY and _CODE.search(text):
        heading = _ANY_HEADING.search(text)
        return min(leads[0].start(), heading.start() if heading else len(text)), len(text)
    return None


def _count_signs(answer: str) -> int:
    """Return the number of signs in *answer*; its opening counts as one."""
    shapes = (_HEADING, _CODE, _CLOSES)
    has_leads = len(_LEAD.findall(answer)) >= _LEADS_MIN
    return 1 + has_leads + sum(shape.search(answer) is not None for shape in shapes)
