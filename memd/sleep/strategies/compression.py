"""The summary of an old session (SPEC 3.4-3.6): by a language model if there is one, or by rule.

The prompt is verbatim from the specification, except that the conversation is
fenced and the instructions say how to read a fence.
A model that is unreachable or fails costs detail: the rule replaces it. A
model with an empty answer found nothing to keep: the session stays as
it is, and the next night asks again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.sleep.strategies.ask import Model, request_answer
from memd.sleep.strategies.shorten import truncate
from memd.view.view import untrusted_content_directive, wrap_stored

SENTENCES = 3
CHARS = 900
LEAST_CHARS = 40  # of each active memory
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
    """The text of one memory of a session; one that is not *is_active* is in a summary already."""

    text: str
    is_active: bool = True


def summarise_by_rule(texts: Sequence[SessionText]) -> str:
    """Return the first three sentences of *texts*, then the beginnings of other active ones.

    If all are active, only the sentences (SPEC 3.5). An active text appears in no other
    summary, so each gets an equal share of the remaining characters.

    >>> texts = [SessionText("We met. It rained. We left.", False), SessionText("Ann won.")]
    >>> summarise_by_rule(texts)
    'We met. It rained. We left. Ann won.'
    """
    short = first_sentences([memory.text for memory in texts])
    if all(memory.is_active for memory in texts):
        return short
    active_texts = [" ".join(memory.text.split()) for memory in texts if memory.is_active]
    missing = [text for text in active_texts if text not in short]
    if not missing:
        return short
    short = truncate(short, CHARS // 2)
    room = max(LEAST_CHARS, (CHARS - len(short)) // len(missing) - len(" ..."))
    return " ".join([short, *(_end_sentence(truncate(text, room)) for text in missing)])[:CHARS]


def first_sentences(contents: Sequence[str]) -> str:
    """Return the first three sentences of *contents*, at most 900 characters.

    >>> first_sentences(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(_SENTENCE_END.split(joined)[:SENTENCES])[:CHARS]
    return _end_sentence(short)


def _end_sentence(text: str) -> str:
    return f"{text}." if text and text[-1].isalnum() else text


def build_prompt(contents: Sequence[str]) -> str:
    """Return the prompt for a session's texts, in order."""
    fenced = wrap_stored(_FENCE, "\n".join(contents))
    return PROMPT.replace("{session_content}", fenced)


def select_fitting(
    texts: Sequence[SessionText], *, each_max: int, chars_max: int
) -> dict[int, str]:
    """Return the texts that fit into a prompt, truncated, by their indexes and in order.

    Active texts are selected first, so that a summary always covers some of them; at least
    one text is selected.

    >>> texts = [SessionText("abcdef"), SessionText("ab"), SessionText("abc")]
    >>> select_fitting(texts, each_max=4, chars_max=8)
    {0: 'abcd', 1: 'ab'}
    """
    texts_by_place: dict[int, str] = {}
    room = chars_max
    for place in sorted(range(len(texts)), key=lambda place: not texts[place].is_active):
        short = texts[place].text[:each_max]
        room -= len(short) + len("\n")
        if texts_by_place and room < 0:
            break
        texts_by_place[place] = short
    return dict(sorted(texts_by_place.items()))


async def summarise(model: Model, contents: Sequence[str]) -> str | None:
    """Return the model's summary of *contents*: "" if it found nothing, None without an answer.

    Raises ProviderRefusedError when the provider needs its owner.
    """
    return await request_answer(
        model, build_prompt(contents), system=untrusted_content_directive((_FENCE,))
    )
