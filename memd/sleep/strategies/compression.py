"""The summary of an old session (SPEC 3.4-3.6): by a language model if there is one, or by rule.

The prompt is the documents', word for word. What was said stands in a fence where
the documents put it in as it is, and the instructions say how to read a fence.
A model that is out of reach, or fails, costs detail: the rule does its work. A
model that answers with nothing has found nothing to keep: the session stays as
it is, and the next night asks again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.sleep.strategies.abstractive import shortened
from memd.sleep.strategies.ask import Model, stripped_answer
from memd.view.view import untrusted_content_directive, wrapped

SENTENCES = 3
CHARS = 900
LEAST_CHARS = 40  # of what is left over, each
TAG = "compressed"
PROMPT = """\
Summarize the following conversation into 2-3 sentences capturing key facts,
decisions, and topics discussed. Be specific and preserve names, numbers, and
technical details. Do not include pleasantries.
Conversation:
{session_content}"""

_FENCE = "conversation"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class SessionText(NamedTuple):
    """One memory of a session; one that is *left_over* has no list of a night in front."""

    text: str
    left_over: bool = True


def by_rule(texts: Sequence[SessionText]) -> str:
    """Return the first three sentences of *texts*, and the beginnings of what else is left over.

    Where nothing was put behind a list before, the sentences alone (SPEC 3.5). What is left
    over is shown by this summary only, so its words stand in it, each with as much room.

    >>> by_rule([SessionText("We met. It rained. We left.", False), SessionText("Ann won.")])
    'We met. It rained. We left. Ann won.'
    """
    short = in_short([each.text for each in texts])
    if all(each.left_over for each in texts):
        return short
    left = [" ".join(each.text.split()) for each in texts if each.left_over]
    more = [text for text in left if text not in short]
    if not more:
        return short
    short = shortened(short, CHARS // 2)
    room = max(LEAST_CHARS, (CHARS - len(short)) // len(more) - len(" ..."))
    return " ".join([short, *(_ended(shortened(text, room)) for text in more)])[:CHARS]


def in_short(contents: Sequence[str]) -> str:
    """Return the first three sentences of what was said, at most 900 characters.

    >>> in_short(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(_SENTENCE_END.split(joined)[:SENTENCES])[:CHARS]
    return _ended(short)


def _ended(text: str) -> str:
    return f"{text}." if text and text[-1].isalnum() else text


def prompted(contents: Sequence[str]) -> str:
    """Return the prompt for what was said, in the order in which it was."""
    fenced = wrapped(_FENCE, "\n".join(contents))
    return PROMPT.replace("{session_content}", fenced)


def fitting(texts: Sequence[SessionText], *, each_max: int, chars_max: int) -> dict[int, str]:
    """Return by their places what of *texts* a prompt has room for, each cut short, in order.

    What is left over comes before what has a list in front, so that a summary is always of
    some of it; one at least is taken.

    >>> texts = [SessionText("abcdef"), SessionText("ab"), SessionText("abc")]
    >>> fitting(texts, each_max=4, chars_max=8)
    {0: 'abcd', 1: 'ab'}
    """
    taken: dict[int, str] = {}
    room = chars_max
    for place in sorted(range(len(texts)), key=lambda place: not texts[place].left_over):
        short = texts[place].text[:each_max]
        room -= len(short) + len("\n")
        if taken and room < 0:
            break
        taken[place] = short
    return dict(sorted(taken.items()))


async def summarised(model: Model, contents: Sequence[str]) -> str | None:
    """Return what the model makes of *contents*: "" when it finds nothing, None without an answer.

    Raises ProviderRefusedError when the provider needs its owner.
    """
    return await stripped_answer(
        model, prompted(contents), system=untrusted_content_directive((_FENCE,))
    )
