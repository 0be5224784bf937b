"""The language model for the rest of memd: purposes, budget, circuit breaker, costs.

A completion checks the purpose, the breaker and the budget, removes secrets from the prompt,
calls the provider, then counts and records the usage. Prompts and answers are never logged.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import MemdError, ProviderBusyError, ProviderError, ProviderRefusedError
from memd.base.limits import PROVIDER_REQUESTS_MAX
from memd.domain.values import Value
from memd.guard.redaction import redact
from memd.llm.meter import Breaker, Budget, PurposeCounters
from memd.llm.provider import (
    INTERACTIVE_PURPOSES,
    Completion,
    CompletionRequest,
    LlmStatus,
    PromptErasedError,
    Provider,
    Purpose,
    PurposeUsage,
    TokenUsage,
    estimate_input,
)

M = TypeVar("M", bound=Value)

_OBJECTS_TRIED = 50
"""The opening braces of an answer at which a JSON object is tried; bounds the time."""


class Cost(NamedTuple):
    """The cost of one completion, for the operational records."""

    request: CompletionRequest
    model: str
    usage: TokenUsage
    at_us: int


class Accounts(Protocol):
    """Storage of costs."""

    async def note(self, cost: Cost) -> None:
        """Record the cost of a completion."""
        ...

    async def past(self) -> Iterable[tuple[int, int]]:
        """Return (time, tokens) of background completions within a day, in order."""
        ...


class ProviderIdentity(NamedTuple):
    """The description of a provider: its kind, its model, where prompts go."""

    name: str
    model: str | None = None
    location: Callable[[], str | None] = lambda: None


class ModelLimits(NamedTuple):
    """The token budget of background work, and the timeout of interactive work."""

    night_tokens: int = 0
    wait_ms: int | None = None
    erasures: Callable[[], int] = int
    """Returns the count of erasures: no prompt from before the last one is sent."""


NO_LIMITS = ModelLimits()


class LanguageModel:
    """A provider with its limits; itself a ``Provider``."""

    def __init__(
        self,
        provider: Provider,
        identity: ProviderIdentity,
        clock: Clock,
        *,
        purposes: Iterable[Purpose],
        limits: ModelLimits = NO_LIMITS,
        accounts: Accounts | None = None,
    ) -> None:
        self.identity = identity
        self._provider = provider
        self._clock = clock
        self._purposes = frozenset(purposes)
        self._budget = Budget(limits.night_tokens)
        self._wait_ms = limits.wait_ms
        self._interactive, self._background = Breaker(), Breaker()
        self._counters = {purpose: PurposeCounters() for purpose in Purpose}
        self._slots = asyncio.Semaphore(PROVIDER_REQUESTS_MAX)
        self._accounts = accounts
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._last_error: str | None = None
        self._erasures = limits.erasures

    async def close(self) -> None:
        """Close the provider."""
        await self._provider.close()

    @property
    def provider(self) -> Provider:
        """Return the provider."""
        return self._provider

    def reset_failures(self) -> None:
        """Reset the breakers, because the provider is available again."""
        self._interactive.record_success()
        self._background.record_success()

    def serves(self, purpose: Purpose) -> bool:
        """Return whether the settings use the model for *purpose*."""
        return purpose in self._purposes

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the model's answer to *request*.

        Raises ProviderBusyError if the purpose is not enabled, the breaker is open, the budget
        is used up or the past costs cannot be read; PromptErasedError if something was forgotten
        between the making of the prompt and the answer; and the provider's errors.
        """
        if request.erasures is None:
            request = replace(request, erasures=self._erasures())
        why_not = self._why_not(request.purpose)
        if why_not is not None:
            raise ProviderBusyError(why_not)
        try:
            await self._load_past_costs()
        except MemdError as error:  # callers go on without the model
            raise ProviderBusyError(f"the past costs cannot be read: {error.kind}") from error
        reserved = self._reserve(request)
        used = 0
        try:
            async with self._slots:
                self._check_erasures(request)
                used = estimate_input(request)  # for a failure: it may have been processed
                completion = await self._ask_provider(request)
            used = completion.usage.tokens
        finally:
            if request.purpose not in INTERACTIVE_PURPOSES:
                self._budget.settle(reserved, used, self._clock.now_us())
        self._counters[request.purpose].add(completion.usage)
        await self._note_cost(request, completion)
        self._check_erasures(request)  # last: an answer that is not returned has its cost, too
        return completion

    async def answer(self, request: CompletionRequest, shape: type[M]) -> M:
        """Return the model's answer as a *shape*, whose schema is part of the request.

        Raises like :meth:`complete`, and ProviderBusyError for an answer of another shape.
        """
        completion = await self.complete(replace(request, schema=shape.model_json_schema()))
        answer = parse_answer(completion.text, shape)
        if answer is None:
            self._counters[request.purpose].failures += 1
            raise ProviderBusyError("the language model answered in another shape")
        return answer

    async def status(self) -> LlmStatus:
        """Return the availability of the provider, and the usage by purpose."""
        await self._load_past_costs()
        now_us = self._clock.now_us()
        why_not = self._why_unavailable(now_us)
        until_us = max(self._interactive.open_until_us, self._background.open_until_us)
        return LlmStatus(
            provider=self.identity.name,
            model=self.identity.model,
            where=self.identity.location(),
            available=why_not is None,
            why_not=why_not,
            retry_at=None if why_not is None else from_us(until_us),
            last_error=self._last_error,
            night_tokens=self._budget.limit,
            night_tokens_spent=self._budget.used_tokens(now_us),
            purposes=tuple(self._purpose_usage(purpose) for purpose in Purpose),
        )

    def call_counts(self, purposes: Collection[Purpose]) -> tuple[int, int]:
        """Return the numbers of completions and failures for *purposes*."""
        counters = [self._counters[purpose] for purpose in purposes]
        return sum(counter.completions for counter in counters), sum(
            counter.failures for counter in counters
        )

    def _purpose_usage(self, purpose: Purpose) -> PurposeUsage:
        counters = self._counters[purpose]
        why_not = self._why_unused(purpose)
        return PurposeUsage(
            purpose=purpose,
            uses_model=why_not is None,
            why_not=why_not,
            completions=counters.completions,
            failures=counters.failures,
            input_tokens=counters.input_tokens,
            output_tokens=counters.output_tokens,
        )

    def _why_unused(self, purpose: Purpose) -> str | None:
        if purpose not in self._purposes:
            return "not switched on"
        if purpose not in INTERACTIVE_PURPOSES and self._budget.limit == 0:
            return "llm.night_tokens is 0"
        return None

    def _breaker(self, purpose: Purpose) -> Breaker:
        """Return the breaker of *purpose*: interactive work has its own, as it times out sooner."""
        return self._interactive if purpose in INTERACTIVE_PURPOSES else self._background

    def _why_paused(self, breaker: Breaker, now_us: int) -> str | None:
        """Return why *breaker* stops its requests, None if it does not."""
        if not breaker.is_open(now_us):
            return None
        where = " in interactive use" if breaker is self._interactive else ""
        return f"it failed repeatedly{where}"

    def _why_unavailable(self, now_us: int) -> str | None:
        background = self._why_paused(self._background, now_us)
        return background or self._why_paused(self._interactive, now_us)

    def _why_not(self, purpose: Purpose) -> str | None:
        now_us = self._clock.now_us()
        return self._why_unused(purpose) or self._why_paused(self._breaker(purpose), now_us)

    async def _load_past_costs(self) -> None:
        """Load, once, the costs from before this start."""
        async with self._loading:
            if self._accounts is not None and not self._is_loaded:
                for at_us, tokens in await self._accounts.past():
                    self._budget.note(tokens, at_us)
                self._is_loaded = True

    def _reserve(self, request: CompletionRequest) -> int:
        """Reserve the maximum tokens of *request* and return them; 0 for interactive work."""
        if request.purpose in INTERACTIVE_PURPOSES:
            return 0
        tokens_max = estimate_input(request) + request.max_tokens
        if not self._budget.reserve(tokens_max, self._clock.now_us()):
            raise ProviderBusyError("the budget of llm.night_tokens is spent")
        return tokens_max

    async def _ask_provider(self, request: CompletionRequest) -> Completion:
        screened = replace(request, prompt=redact(request.prompt), system=redact(request.system))
        if request.purpose in INTERACTIVE_PURPOSES and request.timeout_ms is None:
            screened = replace(screened, timeout_ms=self._wait_ms)
        try:
            completion = await self._provider.complete(screened)
        except PromptErasedError:
            raise
        except ProviderError as error:
            self._count_failure(request, error)
            raise
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # a provider's library may raise anything
            log.error("a provider failed", trace=log.trace_of(error))
            busy = ProviderBusyError(f"the provider failed: {type(error).__name__}")
            self._count_failure(request, busy)
            raise busy from None
        self._breaker(request.purpose).record_success()
        return completion

    def _check_erasures(self, request: CompletionRequest) -> None:
        """Raise PromptErasedError if the prompt or answer may contain a forgotten memory."""
        if request.erasures != self._erasures():
            raise PromptErasedError("something was forgotten since the prompt was made")

    def _count_failure(self, request: CompletionRequest, error: ProviderError) -> None:
        now_us, refused = self._clock.now_us(), isinstance(error, ProviderRefusedError)
        # A refusal (missing command, wrong key) concerns both; a timeout only its own kind of work.
        failing = (
            [self._interactive, self._background] if refused else [self._breaker(request.purpose)]
        )
        for breaker in failing:
            breaker.record_failure(now_us, refused=refused)
        self._counters[request.purpose].failures += 1
        self._last_error = error.message
        log.warning("the language model did not answer", kind=error.kind, why=error.message)

    async def _note_cost(self, request: CompletionRequest, completion: Completion) -> None:
        """Record the cost; a failure is only logged."""
        if self._accounts is None:
            return
        cost = Cost(request, completion.model, completion.usage, self._clock.now_us())
        try:
            await self._accounts.note(cost)
        except Exception as error:  # noqa: BLE001  # a cost must not fail the completion
            log.warning("a cost was not noted", error=type(error).__name__)


def parse_answer(text: str, shape: type[M]) -> M | None:
    """Return the first JSON object in *text* that has the keys of *shape*; None without one.

    Many models put a fence around JSON, or a sentence before it (SPEC 17.3).
    """
    required = {name for name, field in shape.model_fields.items() if field.is_required()}
    decoder, at = json.JSONDecoder(), -1
    for _ in range(_OBJECTS_TRIED):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if required <= value.keys():
            try:
                return shape.model_validate_json(text[at:end])
            except ValidationError:
                break
    return None
