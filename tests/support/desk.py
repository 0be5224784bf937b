"""A client of a running daemon with an agent of its own, so that tests can share the daemon."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, spawned, wait_until

from memd.base.errors import MemdError
from memd.client import Client


@dataclass
class Desk:
    """Calls the daemon in the name of one agent."""

    client: Client
    agent_id: str

    def call(self, method: str, **params: Any) -> Any:
        return self.client.call(method, {"agent_id": self.agent_id, **params})

    def ingest(self, text: str, **more: Any) -> dict[str, Any]:
        """Let *text* become memories; returns the receipt."""
        receipt: dict[str, Any] = self.call("memory.ingest", text=text, **more)
        return receipt

    def store(self, content: str, category: str = "semantic", **more: Any) -> str:
        """Store *content* as it is; returns its id."""
        memory_id: str = self.call("memory.store", content=content, category=category, **more)
        return memory_id

    def recall(self, query: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.call("memory.recall", query=query, **more)
        return answer

    def contents(self, query: str, **more: Any) -> list[str]:
        """Return the texts that recall answers with, in order."""
        return [memory["content"] for memory in self.recall(query, **more)["memories"]]

    def prompt(self, query: str, **more: Any) -> dict[str, Any]:
        """Return the prompt that is prepared for *query*."""
        prompt: dict[str, Any] = self.call("inject.prepare", query=query, **more)
        return prompt

    def get(self, memory_id: str) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = self.call("memory.get", id=memory_id)
        return answer

    def count(self, **more: Any) -> int:
        number: int = self.call("memory.count", **more)
        return number

    def archived(self) -> int:
        number: int = self.call("archive.count")
        return number

    def preferences(self) -> dict[str, str]:
        """Return the agent's preferences by name."""
        items = self.call("preference.list")["items"]
        return {item["name"]: item["value"] for item in items}

    def refused(self, method: str, **params: Any) -> MemdError:
        """Return the error with which the daemon refuses a call."""
        with pytest.raises(MemdError) as caught:
            self.call(method, **params)
        return caught.value

    def settle(self) -> None:
        """Wait until every memory has its vector."""
        wait_until(lambda: pending(self.client) == 0, "every memory has its vector")


def text_of(prompt: dict[str, Any]) -> str:
    """Return what the messages of a prompt say."""
    return "\n".join(message["content"] for message in prompt["messages"])


def pending(client: Client) -> int:
    """Return how many memories of the whole store wait for a vector."""
    waiting: int = client.call("system.status")["pending"]
    return waiting


@contextlib.contextmanager
def served(
    home: Path, model_dir: Path | None, more: Mapping[str, str] | None = None
) -> Iterator[Spawned]:
    """Start a real daemon under *home*, with the model at *model_dir* or without one."""
    places = {} if model_dir is None else {"MEMD_MODEL_DIR": str(model_dir)}
    with spawned(home, {**places, **(more or {})}) as daemon:
        yield daemon


@contextlib.contextmanager
def a_desk(daemon: Spawned, name: str) -> Iterator[Desk]:
    """Yield a connection in the name of an agent of this *name*."""
    with daemon.client() as client:
        yield Desk(client, re.sub(r"\W+", "-", name)[-100:])


def denied(owner: Client, client: str) -> dict[str, int]:
    """Return how often each method was refused to *client*, as the audit says."""
    attempts: dict[str, int] = {}
    params = {"client": client, "outcome": "denied", "limit": 1_000}
    for row in owner.call("audit.show", params)["items"]:
        assert row["rows"] == 0
        attempts[row["method"]] = attempts.get(row["method"], 0) + row["attempts"]
    return attempts
