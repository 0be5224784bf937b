"""What of a user's message the agent had said: quoted lines, and what is picked of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memd.sleep.distil.answers import CHARS_MAX, cut
from memd.sleep.distil.language.moment import only_names
from memd.sleep.distil.language.phrases import PASTED_ERROR
from memd.sleep.distil.language.replies import is_bare_step
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.user.acts import Act, judge

QUOTED_CHARS = 30
"""What somebody quotes has so many; shorter lines are in many texts."""
_QUOTED_TEXTS = 80  # how far back a review is gone through, point by point
_STEP_WORDS = 6
_POINT = re.compile(r"\W{0,3}(?:\d{1,3}|[A-Za-z])[.):]\W*\s")
_FLAT = re.compile(r"\w+")


def drop_quoted(own: Words, texts: Sequence[str]) -> Words:
    """Return *own* without the lines that stand in the agent's *texts*, as far as they are long."""
    lines = [line for paragraph in own.paragraphs for line in paragraph.split("\n")]
    if not texts or max(map(len, lines), default=0) < QUOTED_CHARS:
        return own
    lately = " ".join(texts[-_QUOTED_TEXTS:])

    def is_quoted(line: str) -> bool:
        # "Let's fix this: 4. The lock is taken twice" quotes behind its colon.
        flat = [fold_words(line), fold_words(line.partition(": ")[2])]
        return any(len(each) >= QUOTED_CHARS and each in lately for each in flat)

    left = ("\n".join(x for x in p.split("\n") if not is_quoted(x)) for p in own.paragraphs)
    return own._replace(paragraphs=tuple(filter(None, left)))


def quoted_lines(whole: Words, own: Words) -> str:
    """Return the lines of *whole* that are not in *own*: what the agent had said."""
    mine = {line for paragraph in own.paragraphs for line in paragraph.split("\n")}
    lines = [line for paragraph in whole.paragraphs for line in paragraph.split("\n")]
    points = [_drop_order(line) for line in lines if line not in mine]
    if PASTED_ERROR.search(whole.pasted) and not any(map(_POINT.match, points)):
        return ""  # an error, of which the agent's code has the words
    return cut("\n".join(each for each in points if _is_option(each)), CHARS_MAX)


def _is_option(point: str) -> bool:
    """Return whether a quoted line is a thing to pick: no name alone, no question, no step."""
    is_step = is_bare_step(point) and len(point.split()) <= _STEP_WORDS
    is_lead = point.endswith(":")
    is_cry = point.endswith("!")
    return not (
        is_step or is_lead or is_cry or only_names(point) or judge(point).act is Act.QUESTION
    )


def _drop_order(line: str) -> str:
    """Return a quoted line without the order in front of it: "Let's fix this: 4. ..."."""
    order, _, point = line.partition(": ")
    return point.strip() if point.strip() and judge(order).act is Act.REQUEST else line


def fold_words(text: str) -> str:
    """Return the words of *text*, by which a quotation is known again."""
    return " ".join(_FLAT.findall(text.casefold()))
