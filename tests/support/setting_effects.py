"""Mark which test shows the effect of a setting, and start a daemon with settings."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from support.clocks import HeldClock
from support.daemon import running
from support.words_embedder import WordsEmbedder

import memd.serve.rooms
from memd.base.paths import Paths
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


def shows(*keys: str) -> Callable[[F], F]:
    """Say that a test fails when one of *keys*, dotted, has no effect.

    ``tests/house/test_settings_tree.py`` reads the decorators without importing the tests.
    """

    def unchanged(test: F) -> F:
        return test

    assert keys
    return unchanged


@dataclass
class LengthScorer:
    """A re-ranker that likes long texts, and counts how often it is asked."""

    asked: int = 0
    loaded: bool = True
    fingerprint: Any = field(default_factory=lambda: WordsEmbedder().fingerprint)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        del query
        self.asked += 1
        return [float(len(text)) for text in texts]

    async def close(self) -> None:
        return


@dataclass
class Stage:
    """A daemon that answers on a real socket: its client, its clock, its re-ranker."""

    client: AsyncClient
    clock: HeldClock
    scorer: LengthScorer
    paths: Paths

    async def call(self, method: str, **params: Any) -> Any:
        return await self.client.call(method, params)

    async def remember(self, *texts: str, **more: Any) -> list[str]:
        """Store *texts* as they are and wait for their vectors; return the ids."""
        ids = []
        for text in texts:
            request = {"content": text, "category": "semantic", **more}
            ids.append(await self.client.call("memory.store", request))
        return ids

    async def wait_for_vectors(self) -> None:
        """Wait until every memory has its vector: nights leave the others alone."""
        for _ in range(2_000):
            items = (await self.call("memory.list"))["items"]
            if all(each["state"] != "pending" for each in items):
                return
            await asyncio.sleep(0.005)
        raise AssertionError("memories wait for their vectors")

    async def prompt(self, query: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await self.client.call("inject.prepare", {"query": query, **more})
        return answer


@contextlib.asynccontextmanager
async def a_stage(
    home: Path, patch: pytest.MonkeyPatch, tree: Mapping[str, Any]
) -> AsyncIterator[Stage]:
    """Run a daemon with the settings *tree*, models that embed words and like length."""
    home.mkdir(exist_ok=True)
    clock, scorer = HeldClock(), LengthScorer()

    def models(*_: Any) -> tuple[Any, Any]:
        return WordsEmbedder(), scorer

    async with AsyncExitStack() as stack:
        patch.setattr(memd.serve.rooms, "models", models)
        settings = Settings.model_validate(tree)
        paths = await stack.enter_async_context(running(home, settings=settings, clock=clock))
        client = AsyncClient(paths.socket, key=paths.operator_key)
        yield Stage(await stack.enter_async_context(client), clock, scorer, paths)


def tree(key: str, value: Any) -> dict[str, Any]:
    """Return the settings with *value* under the dotted *key*.

    >>> tree("memory.options.retention_days", 3)
    {'memory': {'options': {'retention_days': 3}}}
    """
    for step in reversed(key.split(".")):
        value = {step: value}
    return dict(value)


def merged(*trees: Mapping[str, Any]) -> dict[str, Any]:
    """Return all of *trees* as one."""
    whole: dict[str, Any] = {}
    for each in trees:
        for key, value in each.items():
            both = isinstance(value, Mapping) and key in whole
            whole[key] = merged(whole[key], value) if both else value
    return whole
