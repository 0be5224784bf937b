"""Call a language model for consolidation; a missing answer is no error (SPEC 16.10, D8).

All calls of consolidation to a provider are made here. Each caller falls back on a rule, so a model
that is unreachable or answers nonsense does not fail a night. Only errors that the owner must fix,
such as a wrong key or an unknown model, are raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from memd.base.errors import ProviderError
from memd.base.limits import PROVIDER_ANSWER_MS_MAX, PROVIDER_REQUESTS_MAX
from memd.domain.backend import CompletionProvider
from memd.domain.values import Text
from memd.guard.redaction import redact

_log = logging.getLogger(__name__)
_I = TypeVar("_I")
_T = TypeVar("_T")
_STORABLE: TypeAdapter[str] = TypeAdapter(Text)


@dataclass(frozen=True, slots=True)
class Model:
    """A provider and the parameters of every request to it. Raises ValueError for a blank name."""

    provider: CompletionProvider
    name: str
    temperature: float
    max_tokens: int

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("model must not be blank")


def build_model(
    provider: CompletionProvider | None, model: str | None, *, temperature: float, max_tokens: int
) -> Model | None:
    """Return the model to ask, or None without a *provider* (SPEC D8).

    Raises ValueError for a provider without a model's name, and for a blank name.
    """
    if model is not None and not model.strip():
        raise ValueError("model must not be blank")
    if provider is None:
        return None
    if model is None:
        raise ValueError("model is needed with a provider")
    return Model(provider, model, temperature, max_tokens)


async def ask(model: Model, prompt: str, *, system: str = "") -> str | None:
    """Return the stripped answer to *prompt*, None if there is none or it is empty.

    Raises what :func:`request_answer` does.
    """
    return await request_answer(model, prompt, system=system) or None


async def request_answer(model: Model, prompt: str, *, system: str = "") -> str | None:
    """Return the stripped answer to *prompt*, "" for an empty answer, None for none.

    An answer that cannot be stored counts as none. Raises ProviderRefusedError, MemoryError,
    RecursionError, and CancelledError if the caller is cancelled.
    """
    try:
        async with asyncio.timeout(PROVIDER_ANSWER_MS_MAX / 1000):
            answer = await model.provider.complete(
                redact(prompt),
                model=model.name,
                system=system,
                temperature=model.temperature,
                max_tokens=model.max_tokens,
            )
        if answer == "" or answer.isspace():
            _log.warning("the language model answered with nothing")
            return ""
        return _STORABLE.validate_python(answer, strict=True).strip()
    except (MemoryError, RecursionError):
        raise
    except ValidationError:
        _log.warning("the language model answered with nothing that can be stored")
    except ProviderError as error:
        if not error.retry:
            raise
        _log.warning("the language model did not answer: %s", error.kind)
    except Exception as error:  # noqa: BLE001  # a provider is foreign code; see the contract
        _log.warning("the language model's provider failed: %s", type(error).__name__)
    return None


async def gather_limited(
    call: Callable[[_I], Awaitable[_T]],
    items: Iterable[_I],
    *,
    at_once: int = PROVIDER_REQUESTS_MAX,
) -> list[_T]:
    """Return the results of *call* for *items*, in order; at most *at_once* calls run concurrently.

    The first error is raised unchanged; the other calls are cancelled.
    """
    semaphore = asyncio.Semaphore(at_once)

    async def call_limited(item: _I) -> _T:
        async with semaphore:
            return await call(item)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call_limited(item)) for item in items]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in tasks]
