"""What is left to do, as answers call it, and what only sounds so. Pure.

A heading, a label or a sentence says that something is left; what is offered, what somebody is
only to look at, and what was done already is not.
"""

from __future__ import annotations

import re

from memd.sleep.distil.language.phrases import PRINTED

_WORDS_MIN = 3  # of a point: fewer do not say what is to be done
_ITEMS = r"(?:items?|points?|tasks?|steps?|work|issues?|gaps?|problems?|failures?|errors?|todos?)"
_LEFT = (
    rf"(?:what(?:'s| is) (?:left|still (?:open|missing)|not done|missing)"
    rf"|(?:important |known |still )?remaining(?: {_ITEMS})?"
    rf"|(?:still |left )?(?:open|outstanding|pending|unfinished|deferred)"
    rf"(?: (?:{_ITEMS}|questions?|follow-?ups?|decisions?))?"
    r"|(?:still )?(?:not (?:yet )?(?:done|implemented)(?: yet)?|left to do|to[ -]?do(?:s| list)?)"
    r"|(?:immediate |concrete )?next(?: up| steps?)?|follow-?ups?(?: tasks?| items?)?"
    r"|prochaines? étapes?|(?:ce qui |il )?reste(?: à faire)?|à faire"
    r"|nächste schritte|noch (?:offen|zu tun)|offene? punkte?"
    r"|próximos pas+os|pendientes?|pendências|prossimi passi|da fare"
    r"|volgende stappen|nog te doen|следующие шаги|осталось(?: сделать)?|下一步|待办(?:事项)?)"
)
# "To do this" and "Open the page" say what is next to be done, not what is left.
_HEADING = re.compile(
    rf"^\W*(?:\d+[.)]\s*)?{_LEFT}"
    r"(?=\W*$|\s*[(:\u2013\u2014]|\s+-|\s+(?:for|in|after|before|of|on|with)\b)",
    re.IGNORECASE,
)
LABEL = re.compile(rf"^\W*{_LEFT}\W*:\s*(?=\S)", re.IGNORECASE)
"""What stands in front of what is left, in a sentence."""
OFFERED = re.compile(
    r"\b(?:optional\w*|recommend\w*|suggest\w*|ideas?|future|enhancements?|improvements?|if you"
    r"|when(?:ever)? (?:you|ready)|you (?:can|could|may|might)|possible|potential|consider"
    r"|vous pou(?:vez|rriez)|puedes|podrías|kannst du|können sie"
    r"|would you|let me know|is ready|facultati\w+|optionnel\w*|opcional\w*)\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"\b(?<!not )(?<!not yet )(?:fixed|done|resolved|completed?)\b", re.IGNORECASE
)
ORDERED = re.compile(
    r"\b(?:top (?:\d+ )?(?:most |recommended |suggested )?"
    r"(?:important|improvements|issues|priorities|findings)"
    r"|most important|must[ -]fix|ranked by|prioriti[sz]ed)\b",
    re.IGNORECASE,
)
"""In the heading of a list that a review put in order."""
ALL_DONE = re.compile(
    r"\ball (?:\w+ )?(?:todos?|tasks|steps|items)\b[^.!?\n]{0,40}\b(?:completed?|done)\b",
    re.IGNORECASE,
)
"""What an answer says of a plan whose last step nobody ticked."""
LATER = re.compile(
    r"(?:^|[,;])(?:\W*\b(?:ok(?:ay)?|so|then|and|but|gut|dann|bon|vale)\b)*\W*(?:let'?s|we|we'll|i'll"
    r"|lass(?:t)? uns|wir|ich|on|nous|vamos|seguimos|seguiremos)\b[^.?!\n]{0,80}?\b(?:tomorrow"
    r"|next (?:time|session|week|monday)|another (?:time|day|session)|morgen|(?:das )?nächstes? mal"
    r"|nächste (?:woche|sitzung)|mañana|la próxima vez|demain|la prochaine fois)\b",
    re.IGNORECASE,
)
"""How a user puts something off: "let's do the retries tomorrow"."""
_DOABLE = (
    r"(?:done|implemented|tested|wired|pushed|merged|deployed|covered|verified|migrated|written"
    r"|built|added|supported|connected|integrated|fixed|committed|started)"
)
UNDONE = re.compile(
    r"(?<![\"'\u201c])\b(?<!will )(?<!would )(?<!may )(?<!might )(?<!can )(?<!could )(?<!why )"
    r"(?<!what )(?:still (?:needs? (?:a|an|to)|to do|missing|open|left|unimplemented|untested"
    rf"|unverified)\b|not (?:been )?{_DOABLE} yet\b|not yet (?:been )?{_DOABLE}\b"
    r"|remains? (?:to be|open|undone|untested|unresolved|unfixed|unimplemented)\b"
    r"|left (?:to do|undone)\b|next step (?:is|will be)\b"
    r"|needs? to be (?:done|tested|verified|merged|pushed|deployed|implemented)\b)",
    re.IGNORECASE,
)
"""How a sentence says that something is still to be done."""
_NARRATES = re.compile(
    r"^\W*(?:(?:now|next|first|then|finally|great|perfect|good)\b\W*)*"
    r"(?:let me|let's|i'll|i've|i have|i need|i want|now i|i(?= \w+ed\b)|we've|updating|marking"
    r"|if|you can|feel free|command stdout)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:0|no|none|nothing)\b|\bas (?:it is|before|intended)\b|\bon purpose\b", re.IGNORECASE
)
# A list of what was done may stand below "Summary and next steps".
_DID = re.compile(
    r"\W*(?:(?:also|now) )?(?:fixed|added|enhanced|improved|updated|created|implemented|removed"
    r"|moved|renamed|replaced|refactored|converted|cleaned|verified|completed|resolved|changed"
    r"|shows|displays|provides|supports|includes|contains)\b",
    re.IGNORECASE,
)
# What somebody does at their screen to see what was done, or only if they like.
_AT_THE_SCREEN = re.compile(
    r"(?:\W|\d+[.)])*(?:(?:hard )?(?:refresh|reload|restart)|open|visit|go to|navigate|click"
    r"|log (?:in|out)|try|clear|stop|start|run|launch|use|check|verify|review|monitor|watch|enjoy"
    r"|test|search|download|follow|track|share|leverage|keep|continue|proceed|begin|ping|tail"
    r"|rebuild|recreate|upload|(?:quick |manual )+checks?|the app should"
    r"|consider|optional\w*|if|you|let me know|would|won't|option|ready|all"
    r"|reinicia|prueba|verifica|abre|recarga|ejecuta|redémarre[rz]?|teste[rz]?|vérifie[rz]?"
    r"|ouvre[rz]?|recharge[rz]?|lance[rz]?|starte|öffne|prüfe|lade)\b",
    re.IGNORECASE,
)
TRIES = re.compile(r"\W*(?:test|try|verify|check|confirm|review)\b", re.IGNORECASE)
"""A step that nobody ticks once the person is asked to take it."""
TAKES_ALL = re.compile(
    r"\b(?:implement|fix|address|do|apply|tackle|make|resolve)\b[^.?!\n]{0,20}"
    r"\b(?:all|everything|both|each)\b",
    re.IGNORECASE,
)
"""An order to do all that was listed."""
CLOSES = re.compile(
    r"\W*(?:(?:ok(?:ay)?|great|perfect|cool|nice|thanks?|thank you|thx|good|awesome|yes|merci|danke"
    r"|gracias|commit|push|(?:add|stage) all|please|and|now|it|that|this|all|everything|the"
    r"|changes?|to|git(?:hub)?|main|master|remote|origin|branch)\b\W*)+",
    re.IGNORECASE,
)
"""A message that only ends a session: it thanks, or has the work committed."""


def is_open_heading(heading: str) -> bool:
    """Return whether a list below *heading* has what is left to do.

    >>> [is_open_heading(text) for text in ("📋 Next Steps", "Next steps (optional)", "Issues")]
    [True, False, False]
    """
    return bool(_HEADING.match(heading)) and not any(
        one.search(heading) for one in (OFFERED, _IS_DONE)
    )


def is_left(title: str) -> bool:
    """Return whether a *title* says of something that it is to be done, and not only looked at.

    >>> is_left("Sign the release files"), is_left("Refresh the page once"), is_left("1.")
    (True, False, False)
    """
    if len(title.split()) < _WORDS_MIN or title.endswith(("?", ":", "\uff1a")):
        return False
    return not any(
        one(title) for one in (_DID.match, _AT_THE_SCREEN.match, OFFERED.search, PRINTED.search)
    )


def tells_of_nothing(sentence: str) -> bool:
    """Return whether a *sentence* asks, tells of the work, or says that nothing is left."""
    signs = (_NOTHING, _NARRATES, PRINTED)
    return sentence.endswith("?") or any(one.search(sentence) for one in signs)
