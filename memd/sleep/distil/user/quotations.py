"""Separate the lines of a user's message that quote the agent from the user's own. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memd.sleep.distil.answers import CHARS_MAX, cut
from memd.sleep.distil.language.current_moment import only_names
from memd.sleep.distil.language.phrases import PASTED_ERROR
from memd.sleep.distil.language.replies import is_bare_step
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.user.speech_acts import Act, judge

QUOTED_CHARS = 30
"""Shortest line that counts as a quotation; shorter lines occur in many texts."""
_QUOTED_TEXTS = 80  # the agent's last texts; a review may be answered over many turns
_STEP_WORDS = 6
# "4. ", "b) ": the mark of a numbered point.
_POINT = re.compile(r"\W{0,3}(?:\d{1,3}|[A-Za-z])[.):]\W*\s")
_WORD = re.compile(r"\w+")


def drop_quoted(own: Words, texts: Sequence[str]) -> Words:
    """Return *own* without the lines that quote the agent's *texts*.

    Only lines of at least QUOTED_CHARS are compared.
    """
    lines = [line for paragraph in own.paragraphs for line in paragraph.split("\n")]
    if not texts or max(map(len, lines), default=0) < QUOTED_CHARS:
        return own
    recent = " ".join(texts[-_QUOTED_TEXTS:])

    def is_quoted(line: str) -> bool:
        # "Let's fix this: 4. The lock is taken twice" has the quotation after its colon.
        folded = [fold_words(line), fold_words(line.partition(": ")[2])]
        return any(len(part) >= QUOTED_CHARS and part in recent for part in folded)

    remaining = ("\n".join(x for x in p.split("\n") if not is_quoted(x)) for p in own.paragraphs)
    return own._replace(paragraphs=tuple(filter(None, remaining)))


def quoted_lines(whole: Words, own: Words) -> str:
    """Return the lines of *whole* that are not in *own*: the options of the agent that are quoted.

    Names, questions and bare steps are left out. The result has at most CHARS_MAX characters.
    """
    own_lines = {line for paragraph in own.paragraphs for line in paragraph.split("\n")}
    lines = [line for paragraph in whole.paragraphs for line in paragraph.split("\n")]
    points = [_drop_order(line) for line in lines if line not in own_lines]
    if PASTED_ERROR.search(whole.pasted) and not any(map(_POINT.match, points)):
        return ""  # a pasted error repeats words of the agent's code, and quotes nothing
    return cut("\n".join(point for point in points if _is_option(point)), CHARS_MAX)


def _is_option(point: str) -> bool:
    """Return whether a quoted line is an option to choose, not a name, a question or a step."""
    is_step = is_bare_step(point) and len(point.split()) <= _STEP_WORDS
    is_lead_or_exclamation = point.endswith((":", "!"))
    return not (
        is_step or is_lead_or_exclamation or only_names(point) or judge(point).act is Act.QUESTION
    )


def _drop_order(line: str) -> str:
    """Return *line* without a request in front of it: "4. ..." of "Let's fix this: 4. ..."."""
    order, _, point = line.partition(": ")
    return point.strip() if point.strip() and judge(order).act is Act.REQUEST else line


def fold_words(text: str) -> str:
    """Return the words of *text* in lower case, one blank between them, to compare quotations."""
    return " ".join(_WORD.findall(text.casefold()))
