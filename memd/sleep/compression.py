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

from memd.sleep.ask import Model, said
from memd.view.view import untrusted_content_directive, wrap_untrusted

SENTENCES = 3
CHARS = 900
TAG = "compressed"
PROMPT = """\
Summarize the following conversation into 2-3 sentences capturing key facts,
decisions, and topics discussed. Be specific and preserve names, numbers, and
technical details. Do not include pleasantries.
Conversation:
{session_content}"""

_FENCE = "conversation"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def in_short(contents: Sequence[str]) -> str:
    """Return the first three sentences of what was said, at most 900 characters.

    >>> in_short(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(_SENTENCE_END.split(joined)[:SENTENCES])[:CHARS]
    return f"{short}." if short and short[-1].isalnum() else short


def prompted(contents: Sequence[str]) -> str:
    """Return the prompt for what was said, in the order in which it was."""
    fenced = wrap_untrusted(_FENCE, "\n".join(contents))
    return PROMPT.replace("{session_content}", fenced)


def fitting(contents: Sequence[str], *, each_max: int, chars_max: int) -> list[str]:
    """Return the first of *contents* that a prompt has room for, one at least, each cut short.

    >>> fitting(["abcdef", "ab", "abc"], each_max=4, chars_max=8)
    ['abcd', 'ab']
    """
    taken: list[str] = []
    room = chars_max
    for content in contents:
        short = content[:each_max]
        room -= len(short) + len("\n")
        if taken and room < 0:
            break
        taken.append(short)
    return taken


async def summarised(model: Model, contents: Sequence[str]) -> str | None:
    """Return what the model makes of *contents*: "" when it finds nothing, None without an answer.

    Raises ProviderRefusedError when the provider needs its owner.
    """
    return await said(model, prompted(contents), system=untrusted_content_directive((_FENCE,)))
