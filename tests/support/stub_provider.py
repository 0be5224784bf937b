"""A language model with given answers, which records its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Answer = str | BaseException


@dataclass(frozen=True)
class Asked:
    """One prompt as the provider got it."""

    prompt: str
    model: str
    system: str
    temperature: float
    max_tokens: int


class StubProvider:
    """Answers with *answers* one after another, the last one for ever, or by rule.

    An exception among them is raised. *most* is how many prompts were under way at
    the same time.
    """

    def __init__(self, answers: Iterable[Answer] | Callable[[str], Answer]) -> None:
        self._rule = answers if callable(answers) else None
        self._answers = [] if callable(answers) else list(answers)
        self.asked: list[Asked] = []
        self.most = 0
        self._now = 0

    async def complete(
        self,
        prompt: str,
        *,
        model: str,
        system: str = "",
        temperature: float = 0.3,
        max_tokens: int = 200,
    ) -> str:
        self.asked.append(Asked(prompt, model, system, temperature, max_tokens))
        answer = self._answer(prompt)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(0)
        finally:
            self._now -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _answer(self, prompt: str) -> Answer:
        if self._rule is not None:
            return self._rule(prompt)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
