"""The language model as the rest of memd sees it: whether it is used for what, and its answers.

In the order in which things happen: is this purpose given to the model, is the provider left
alone after failures, is there budget; then secrets out of the prompt, the provider is asked,
the usage is counted and noted. Prompts and answers are in no log.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import ProviderBusyError, ProviderError, ProviderRefusedError
from memd.base.limits import PROVIDER_REQUESTS_MAX
from memd.domain.values import Value
from memd.guard.redaction import redact
from memd.llm.meter import Breaker, Budget, Spent
from memd.llm.provider import (
    Completion,
    CompletionRequest,
    PromptErasedError,
    Provider,
    TokenUsage,
    input_estimate,
)
from memd.llm.purposes import WAITED_FOR, LlmStatus, Purpose, PurposeUsage

M = TypeVar("M", bound=Value)

_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


class Cost(NamedTuple):
    """What one completion cost, for the operational records."""

    request: CompletionRequest
    model: str
    usage: TokenUsage
    at_us: int


class Accounts(Protocol):
    """Where costs are kept."""

    async def note(self, cost: Cost) -> None:
        """Keep what a completion cost."""
        ...

    async def past(self) -> Iterable[tuple[int, int]]:
        """Return when how many tokens went to the background within a day, in order."""
        ...


class ProviderIdentity(NamedTuple):
    """How a provider is told of: its kind, its model, where prompts go."""

    name: str
    model: str | None = None
    where: Callable[[], str | None] = lambda: None


class ModelLimits(NamedTuple):
    """What work in the background may spend, and how long who waits is kept waiting."""

    night_tokens: int = 0
    wait_ms: int | None = None
    erasures: Callable[[], int] = int
    """How often something was erased: no prompt from before the last time is sent."""


NO_LIMITS = ModelLimits()


class LanguageModel:
    """A provider with its limits. It is a ``Provider`` itself: who asks it need not know which."""

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
        self._waited, self._background = Breaker(), Breaker()
        self._spent = {purpose: Spent() for purpose in Purpose}
        self._slots = asyncio.Semaphore(PROVIDER_REQUESTS_MAX)
        self._note = None if accounts is None else accounts.note
        self._past = None if accounts is None else accounts.past
        self._seeding = asyncio.Lock()
        self._last_error: str | None = None
        self._erasures = limits.erasures

    async def close(self) -> None:
        """Let go of what the provider has open."""
        await self._provider.close()

    @property
    def provider(self) -> Provider:
        """Return who answers."""
        return self._provider

    def is_back(self) -> None:
        """Forget the failures: the provider says that it is there."""
        self._waited.succeeded()
        self._background.succeeded()

    def serves(self, purpose: Purpose) -> bool:
        """Return whether the settings give *purpose* to the model."""
        return purpose in self._purposes

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the model's answer to *request*.

        Raises ProviderBusyError where the purpose is not the model's, the provider is left
        alone, or the budget is spent, PromptErasedError where something was forgotten since
        the prompt was made or before the answer came, and what the provider raises.
        """
        if request.erasures is None:
            request = replace(request, erasures=self._erasures())
        why_not = self._why_not(request.purpose)
        if why_not is not None:
            raise ProviderBusyError(why_not)
        await self._seed()
        kept = self._reserve(request)
        used = input_estimate(request)  # of one that fails: it may have been read before
        try:
            async with self._slots:
                self._check_erasures(request)
                done = await self._asked(request)
            used = done.usage.tokens
            self._check_erasures(request)
        finally:
            if request.purpose not in WAITED_FOR:
                self._budget.settle(kept, used, self._clock.now_us())
        self._spent[request.purpose].add(done.usage)
        await self._noted(request, done)
        return done

    async def answer(self, request: CompletionRequest, shape: type[M]) -> M:
        """Return the model's answer as a *shape*, whose schema it is asked for.

        Raises as :meth:`complete` does; ProviderBusyError for an answer of another shape.
        """
        done = await self.complete(replace(request, schema=shape.model_json_schema()))
        try:
            return shape.model_validate_json(unfenced(done.text))
        except (ValidationError, ValueError, RecursionError):
            self._spent[request.purpose].failures += 1
            raise ProviderBusyError("the language model answered in another shape") from None

    async def status(self) -> LlmStatus:
        """Return what is used for what, and what it has cost."""
        await self._seed()
        now_us = self._clock.now_us()
        why_not = self._left_alone(now_us)
        until_us = max(self._waited.open_until_us, self._background.open_until_us)
        return LlmStatus(
            provider=self.identity.name,
            model=self.identity.model,
            where=self.identity.where(),
            available=why_not is None,
            why_not=why_not,
            retry_at=None if why_not is None else from_us(until_us),
            last_error=self._last_error,
            night_tokens=self._budget.limit,
            night_tokens_spent=self._budget.spent(now_us),
            purposes=tuple(self._used_for(purpose) for purpose in Purpose),
        )

    def asked(self, purposes: Collection[Purpose]) -> tuple[int, int]:
        """Return how often the model was asked for *purposes*, and how often in vain."""
        spent = [self._spent[purpose] for purpose in purposes]
        return sum(each.completions for each in spent), sum(each.failures for each in spent)

    def _used_for(self, purpose: Purpose) -> PurposeUsage:
        spent = self._spent[purpose]
        why_not = self._unused(purpose)
        return PurposeUsage(
            purpose=purpose,
            uses_model=why_not is None,
            why_not=why_not,
            completions=spent.completions,
            failures=spent.failures,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
        )

    def _unused(self, purpose: Purpose) -> str | None:
        if purpose not in self._purposes:
            return "not switched on"
        if purpose not in WAITED_FOR and self._budget.limit == 0:
            return "llm.night_tokens is 0"
        return None

    def _breaker(self, purpose: Purpose) -> Breaker:
        """Return what counts the failures: who waits gives up sooner than naps and nights do."""
        return self._waited if purpose in WAITED_FOR else self._background

    def _left_alone(self, now_us: int) -> str | None:
        if self._background.is_open(now_us):
            return "it failed again and again"
        waited = self._waited.is_open(now_us)
        return "it failed again and again while somebody waited" if waited else None

    def _why_not(self, purpose: Purpose) -> str | None:
        is_open = self._breaker(purpose).is_open(self._clock.now_us())
        return self._unused(purpose) or ("it failed again and again" if is_open else None)

    async def _seed(self) -> None:
        """Learn once what was spent before this start."""
        async with self._seeding:
            past, self._past = self._past, None
            if past is not None:
                for at_us, tokens in await past():
                    self._budget.note(tokens, at_us)

    def _reserve(self, request: CompletionRequest) -> int:
        if request.purpose in WAITED_FOR:
            return 0
        most = input_estimate(request) + request.max_tokens
        if not self._budget.reserve(most, self._clock.now_us()):
            raise ProviderBusyError("the budget of llm.night_tokens is spent")
        return most

    async def _asked(self, request: CompletionRequest) -> Completion:
        screened = replace(request, prompt=redact(request.prompt), system=redact(request.system))
        if request.purpose in WAITED_FOR and request.timeout_ms is None:
            screened = replace(screened, timeout_ms=self._wait_ms)
        try:
            done = await self._provider.complete(screened)
        except PromptErasedError:
            raise
        except ProviderError as error:
            self._failed(request, error)
            raise
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # a library answers for others; its failure is not memd's
            log.error("a provider failed", trace=log.trace_of(error))
            busy = ProviderBusyError(f"the provider failed: {type(error).__name__}")
            self._failed(request, busy)
            raise busy from None
        self._breaker(request.purpose).succeeded()
        return done

    def _check_erasures(self, request: CompletionRequest) -> None:
        """Raise for a prompt that may hold what was forgotten, and for an answer that may."""
        if request.erasures != self._erasures():
            raise PromptErasedError("something was forgotten since the prompt was made")

    def _failed(self, request: CompletionRequest, error: ProviderError) -> None:
        now_us, refused = self._clock.now_us(), isinstance(error, ProviderRefusedError)
        failing = [self._waited, self._background] if refused else [self._breaker(request.purpose)]
        for breaker in failing:
            breaker.failed(now_us, refused=refused)
        self._spent[request.purpose].failures += 1
        self._last_error = error.message
        log.warning("the language model did not answer", kind=error.kind, why=error.message)

    async def _noted(self, request: CompletionRequest, done: Completion) -> None:
        """Hand the cost to the records; what fails there is nobody's loss."""
        if self._note is None:
            return
        cost = Cost(request, done.model, done.usage, self._clock.now_us())
        try:
            await self._note(cost)
        except Exception as error:  # noqa: BLE001  # accounts come after the work
            log.warning("a cost was not noted", error=type(error).__name__)


def unfenced(text: str) -> str:
    """Return the first code fence's content of *text*, and one that begins as JSON as it is.

    Many models put a fence around JSON, and some a sentence before it (SPEC 17.3).

    >>> unfenced('Here it is:' + chr(10) + '```json' + chr(10) + '{"a": 1}' + chr(10) + '``` Good?')
    '{"a": 1}'
    """
    text = text.strip()
    match = None if text.startswith("{") else _FENCED.search(text)
    return text if match is None else match[1].strip()
