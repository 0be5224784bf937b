"""Score how useful an agent's conclusion is as a memory, by its words and form. Pure.

People later ask what was changed, where and why. Plans, advice, titles of lists, praise of one's
own work and program output lower the score. It is a weighted sum of the *signs* of the text.
"""

from __future__ import annotations

import re
from operator import mul
from typing import NamedTuple

from memd.sleep.distil.language.signs import words as any_of
from memd.text.alternations import Phrases

OUTCOME_WORTH = 0.2
"""Lowest score of a conclusion that is stored."""
_NAMES_MAX = 6
_LONG_WORDS = 60
_FEW_WORDS = 14
_MATCHES_MAX = 4  # of done, to_come and listed that count

# A change that was made: "added", "no longer", "now uses".
_DONE = any_of(
    r"added|updated|fixed|created|changed|removed|implemented|replaced|moved|renamed|converted",
    r"refactored|switched|introduced|tightened|extended|wired|rewrote|rewritten|reverted",
    r"increased|reduced|set to|merged|pushed|committed|deleted|no longer|went from|dropped|split",
    r"excluded|registered|normali[sz]ed|bumped|enabled|disabled|uses?",
    r"now (?:uses?|reads?|shows?|returns?|has|supports?|keeps?|lives?|mirrors?|covers?|lists?)",
)
# The change is among the first words: "I also added ...".
_DONE_FIRST = Phrases(rf"\W*(?:\w+ ){{0,2}}?{_DONE.pattern}")
# Future work, or an instruction to the user: "next steps", "you can now", "run the".
_TO_COME = any_of(
    r"next steps?|to-?do list|would you like|let me know|if you (?:want|like|prefer|need)",
    r"you (?:can now|can|could|will|may|must|should|need to)|you'll|please|make sure|remember to",
    r"we (?:need|have) to|needs? to be|should be|should now|we should|recommend(?:ed|ations?)?",
    r"i recommend|suggest(?:ed|ions?)?|consider|option \d|could|let'?s|to fix (?:this|these|it)",
    r"to resolve|to address|would be|optional|follow-?ups?|here's how|run the|go to|click|open the",
    r"start by|try|visit|replace your",
)
# Announces a step: "Let me", "Now I". _RUN_ON: two announcements that a recorder joined without a
# gap: "...the tests.Checking the".
_ANNOUNCES = Phrases(
    r"\W*(?:let me|now i|now let|i'll|i will|i need|first,|next,|now,|ok(?:ay)?|great|perfect"
    r"|checking|planning|implementing|inspecting|confirming|starting|noting|based on|looking|i see"
    r"|i found|i can see|i understand|got it"
    r"|\u0442\u0435\u043f\u0435\u0440\u044c|ahora|voy a|je vois|vejo que|ich sehe|jetzt)\b"
)
_RUN_ON = Phrases(
    r"[a-z.](?:Checking|Planning|Preparing|Searching|Analyzing|Evaluating|Rewriting|Refactoring"
    r"|Verifying|Reviewing|Updating|Adding|Fixing|Investigating)\b",
    0,
)
# A problem, which is worth less without a change that solves it.
_TROUBLE = any_of(
    r"(?:issue|problem|error)s?|fail(?:s|ed|ing|ure)?|missing|broken|crash\w*"
    r"|does(?: not|n't) (?:exist|work)"
)
_PRAISE = any_of(
    r"successfully|comprehensive|improved|better|enhanced?|robust|various|production[- ]ready",
    r"excellent|well-\w+|professional\w*|complete|clean|modern|key improvements|benefits|ensures?",
)
# A reason: "because", "due to", "->".
_CAUSE = re.compile(
    r"\b(?:because|since|so that|instead of|rather than|due to|otherwise|root cause)\b|→|->",
    re.IGNORECASE,
)
# Files, functions, paths and identifiers.
_NAMES = Phrases(
    r"[\w-]{1,60}\.[a-z]{1,5}\b|\w{1,60}\(\)|\b[^\W_]{1,40}_\w{1,60}|\b[a-z]+[A-Z]\w*"
    r"|(?<!\w)/[\w./-]{3,}|\b[A-Z][a-z]+[A-Z]\w*",
    0,
)
# A measurement: "35 %", "120 ms", "12 tests", "3/4".
_MEASURED = re.compile(
    r"\b\d[\d,.]{0,12}\s?(?:%|(?:ms|s|[KMG]B|px|tests?|passed|words|files)\b)|\b\d+/\d+\b",
    re.IGNORECASE,
)
# An item of a list joined to one line, "... 1. Locks 2. Files"; _LEAD is the text in front of it.
_ITEM = re.compile(r"(?<!\S)\d{1,2}\. ")
_LEAD = re.compile(r"[^.:]{30,200}: 1\. ")
# Program output or code, not a sentence: "error: ...", "import x", "-rw-r--r--".
_PASTED = Phrases(
    r"\W*(?:(?:error|warning|exception|fatal|caused by|traceback|invalid|categoryinfo|called tool"
    r"|npm|at|import|const|def|class|python3?|cd|curl|git|docker|uncaught|from \S+ import)\b"
    r"|\S{1,80}Error:|[d-][rwx-]{5}|\d{4}-\d\d-\d\d|attachment #\d)"
)
_PICTOGRAM = re.compile("[\u2705\u274c\u23f3\u26a0\U0001f300-\U0001faff]")
_CUT_ENDINGS = ("\u2026", ":", ":.")
_WORD = re.compile(r"[^\W\d_]+")


class OutcomeSigns(NamedTuple):
    """The signs of a conclusion, as counts or flags; ``_WEIGHTS`` has the same fields.

    *nameless*: no name at all. *bare*: short, and neither a name, a change, a cause nor a number.
    *listed*: items of a list without a name. *cut*: the text ends with an ellipsis or a colon.
    """

    done: float
    done_first: float
    to_come: float
    announces: float
    run_on: float
    only_trouble: float
    praise: float
    cause: float
    names: float
    nameless: float
    bare: float
    measured: float
    listed: float
    lists: float
    lead: float
    pasted: float
    pictogram: float
    will: float
    long: float
    cut: float


_BASE = 0.33
_WEIGHTS = OutcomeSigns(
    done=0.05,
    done_first=0.2,
    to_come=-0.05,
    announces=-0.2,
    run_on=-0.5,
    only_trouble=-0.05,
    praise=-0.1,
    cause=0.15,
    names=0.1,
    nameless=-0.05,
    bare=-0.1,
    measured=0.05,
    listed=-0.05,
    lists=-0.15,
    lead=-0.3,
    pasted=-0.25,
    pictogram=-0.1,
    will=-0.1,
    long=-0.05,
    cut=-0.3,
)
_WILL = re.compile(r"\bwill\b", re.IGNORECASE)


def outcome_worth(text: str) -> float:
    """Return the score of the conclusion *text* as a memory, usually between 0 and 1.

    >>> outcome_worth("Moved the lock into store.py, because two writers could take it.")
    0.73
    >>> outcome_worth("Next steps: 1. Improve error handling; 2. Test everything.")
    0.03
    """
    worth: float = _BASE + sum(map(mul, outcome_signs(text), _WEIGHTS))
    return round(worth, 2)


def outcome_signs(text: str) -> OutcomeSigns:
    """Return the signs of the conclusion *text*."""
    names = set(_NAMES.findall(text))
    done = len(_DONE.findall(text))
    items = _ITEM.split(text)[1:]
    causes, measured = len(_CAUSE.findall(text)), len(_MEASURED.findall(text))
    words = len(_WORD.findall(text))
    is_specific = names or done or causes or measured
    return OutcomeSigns(
        done=min(_MATCHES_MAX, done),
        done_first=bool(_DONE_FIRST.match(text)),
        to_come=min(_MATCHES_MAX, len(_TO_COME.findall(text))),
        announces=bool(_ANNOUNCES.match(text)),
        run_on=bool(_RUN_ON.search(text)),
        only_trouble=not done and bool(_TROUBLE.search(text)),
        praise=min(3, len(_PRAISE.findall(text))),
        cause=min(2, causes),
        names=min(_NAMES_MAX, len(names)) / 2,
        nameless=not names,
        bare=not is_specific and words <= _FEW_WORDS,
        measured=min(2, measured),
        listed=min(_MATCHES_MAX, sum(not _NAMES.search(item) for item in items)) / 2,
        lists=bool(items),
        lead=bool(_LEAD.match(text)),
        pasted=bool(_PASTED.match(text)),
        pictogram=bool(_PICTOGRAM.search(text)),
        will=min(2, len(_WILL.findall(text))),
        long=words > _LONG_WORDS,
        cut=text.rstrip().endswith(_CUT_ENDINGS),
    )
