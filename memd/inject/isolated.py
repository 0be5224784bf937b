"""Nothing that goes wrong with memories may stop an assistant (SPEC 9.4-9.6).

One place decides what is swallowed: every failure but those of the process
itself (no memory, no stack), which go on upwards, out of exception groups too.

A language model's answer is read here, too: as JSON, or as none, for who has a rule to
fall back on.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

from memd.base import log
from memd.base.errors import MemdError
from memd.sleep.strategies.ask import Model, stripped_answer

T = TypeVar("T")
Failed = list[str]

SYSTEM_ERRORS = (MemoryError, RecursionError)


async def isolated(work: Awaitable[T], otherwise: T, what: str, failed: Failed | None = None) -> T:
    """Return what *work* returns, or *otherwise* when it fails.

    A failure is logged by its class, never its message, and *what* is added to
    *failed*. Raises the process's own errors.
    """
    try:
        return await work
    except Exception as error:  # a source that fails is left out; see the module
        system = system_error(error)
        if system is not None:
            raise system from error
        log.warning("injection degraded", what=what, error=type(error).__name__)
        if failed is not None:
            failed.append(what)
        return otherwise


async def spoken(work: Awaitable[str], unavailable: str, unexpected: str) -> str:
    """Return the text that *work* returns; for a failure one that says no more than needed.

    *unavailable* for what memd raises on purpose, *unexpected* for a bug. Neither
    holds the error's own message, which is for the owner of the desktop. Raises
    the process's own errors.
    """
    try:
        return await work
    except MemdError as error:
        log.warning("tool call failed", kind=error.kind)
        return unavailable
    except Exception as error:  # a model that called a tool has to be answered
        system = system_error(error)
        if system is not None:
            raise system from error
        log.error("tool call failed", trace=log.trace_of(error))
        return unexpected


def system_error(error: BaseException) -> BaseException | None:
    """Return the error of the process itself that *error* is or holds, None without one."""
    if isinstance(error, SYSTEM_ERRORS):
        return error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            inner_error = system_error(inner)
            if inner_error is not None:
                return inner_error
    return None


_FENCE = "```"


async def json_reply(model: Model, prompt: str, *, system: str, what: str) -> dict[str, Any] | None:
    """Return the object that *model* answers with; None when it fails or answers otherwise.

    Raises the process's own errors only.
    """
    reply = await isolated(stripped_answer(model, prompt, system=system), None, what)
    return None if reply is None else parsed(reply)


def parsed(reply: str) -> dict[str, Any] | None:
    """Return the JSON object that *reply* is, with or without a code fence; None if it is none.

    >>> parsed('```json' + chr(10) + '{"retry": false}' + chr(10) + '```')
    {'retry': False}
    >>> parsed("[1]") is None
    True
    """
    text = reply.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).partition("\n")[2]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # nested too deep to be an answer
        return None
    return value if isinstance(value, dict) else None
