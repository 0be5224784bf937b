"""Replace failures by defaults: no failing source may stop an assistant (SPEC 9.4-9.6).

All errors are replaced but those of the process (out of memory, stack overflow). These propagate,
also out of exception groups. A language model's JSON answers are parsed here as well: None tells
the caller to fall back to a rule.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

from memd.base import log
from memd.sleep.strategies.ask import Model, request_answer

T = TypeVar("T")
Failed = list[str]
"""The names of the sources that failed; functions append to it."""

SYSTEM_ERRORS = (MemoryError, RecursionError)


async def isolate(work: Awaitable[T], default: T, what: str, failed: Failed | None = None) -> T:
    """Return the result of *work*, or *default* if it fails.

    A failure is logged with its class, never with its message, and *what* is added to *failed*.
    Raises only errors of the process (SYSTEM_ERRORS).
    """
    try:
        return await work
    except Exception as error:  # any error of a source; see the module's docstring
        system = system_error(error)
        if system is not None:
            raise system from error
        log.warning("injection degraded", what=what, error=type(error).__name__)
        if failed is not None:
            failed.append(what)
        return default


def describe_failures(failed: Failed) -> str | None:
    """Return the text for a reply's ``degraded``, with each source once; None without a failure."""
    return "; ".join(f"{what} failed and is left out" for what in dict.fromkeys(failed)) or None


def system_error(error: BaseException) -> BaseException | None:
    """Return the error of the process that *error* is or contains; None if there is none."""
    if isinstance(error, SYSTEM_ERRORS):
        return error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            if (inner_error := system_error(inner)) is not None:
                return inner_error
    return None


_FENCE = "```"


async def json_reply(model: Model, prompt: str, *, system: str, what: str) -> dict[str, Any] | None:
    """Return the JSON object that *model* answers; None if it fails or answers anything else.

    Raises only errors of the process (SYSTEM_ERRORS).
    """
    reply = await isolate(request_answer(model, prompt, system=system), None, what)
    return None if reply is None else parse_object(reply)


def parse_object(reply: str) -> dict[str, Any] | None:
    """Parse *reply* as a JSON object, with or without a code fence; return None if it is none.

    >>> parse_object('```json' + chr(10) + '{"retry": false}' + chr(10) + '```')
    {'retry': False}
    >>> parse_object("[1]") is None
    True
    """
    text = reply.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).partition("\n")[2]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        return None
    return value if isinstance(value, dict) else None
