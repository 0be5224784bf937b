"""What the replay of recorded sessions counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from bench.bench_daemon import Stage
from bench.replay import Replay, measured, table


@dataclass
class EverySaying:
    """A store that injects whatever it was told, in order."""

    texts: list[str] = field(default_factory=list)

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "memory.ingest":
            self.texts.append(params["text"])
            return {"stored": [{"id": str(len(self.texts) - 1)}]}
        if method == "memory.get":
            return {"content": self.texts[int(params["id"])]}
        return {"memories": [{"id": str(n)} for n in range(len(self.texts))], "tokens_used": 7}


@dataclass
class StageOf:
    client: EverySaying = field(default_factory=EverySaying)

    def settle(self) -> None: ...


def test_what_a_session_said_and_what_it_was_given_is_counted() -> None:
    messages = [
        {"role": "user", "content": "Which port?"},
        {"role": "assistant", "content": "It is 8080."},
        {"role": "tool", "content": "8080/tcp open"},
        {"role": "user", "content": "Which port?"},
    ]
    result = measured(Replay(cast("Stage", StageOf())), {"s": messages})
    assert result["first"] == {
        "prompts": 2, "entries": 2, "tokens": 14, "window": 2, "own": 1, "asked": 1, "again": 0,
        "double": 0,
    }  # fmt: skip
    assert result["second"] == {
        "prompts": 2, "entries": 8, "tokens": 14, "window": 2, "own": 5, "asked": 5, "again": 3,
        "double": 4,
    }  # fmt: skip
    assert "| second | 2 | 8 | 14 | 2 | 5 | 5 | 3 | 4 | 4.0 | 7.0 |" in table(result)
