"""What a program gives a client wrongly is refused in words, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memd.base.errors import InvalidError
from memd.client import AsyncClient, Client

NOWHERE = "/nowhere/memd.sock"
Params = tuple[tuple[Any, ...], dict[str, Any]]

MISPLACED: dict[str, Params] = {
    "by name": ((), {"text": "x"}),
    "a text": (("x",), {}),
    "pairs": (([("text", "x")],), {}),
    "both": (({"text": "x"},), {"tags": ["y"]}),
}


@pytest.mark.parametrize("params", MISPLACED.values(), ids=MISPLACED)
async def test_params_are_one_mapping(params: Params) -> None:
    positional, named = params
    sync: Callable[..., Any] = Client(NOWHERE).call
    with pytest.raises(InvalidError, match=r"the params of memory\.ingest must be") as refused:
        sync("memory.ingest", *positional, **named)
    assert 'call("memory.ingest", {"' in str(refused.value.hint)
    concurrent: Callable[..., Any] = AsyncClient(NOWHERE).call
    with pytest.raises(InvalidError, match="must be one mapping"):
        await concurrent("memory.ingest", *positional, **named)


async def test_a_method_is_named_by_a_string() -> None:
    sync: Callable[..., Any] = Client(NOWHERE).call
    with pytest.raises(InvalidError, match="must be a string"):
        sync(None)
    concurrent: Callable[..., Any] = AsyncClient(NOWHERE).call
    with pytest.raises(InvalidError, match="must be a string"):
        await concurrent(None)


@pytest.mark.parametrize("value", [datetime(2026, 11, 1, tzinfo=UTC), b"x", {"x"}])
async def test_a_value_that_json_has_not_is_named_by_its_type(value: Any) -> None:
    params = {"text": "x", "occurred_at": value}
    with pytest.raises(InvalidError, match=f"type {type(value).__name__} is not") as refused:
        Client(NOWHERE).call("memory.ingest", params)
    assert "isoformat()" in str(refused.value.hint)
    with pytest.raises(InvalidError, match=f"type {type(value).__name__} is not"):
        await AsyncClient(NOWHERE).call("memory.ingest", params)


@pytest.mark.parametrize("key", ["/nowhere/ada.key", "ada.key", "keys/ada"])
def test_a_text_that_is_the_path_of_a_key_is_told_so(key: str) -> None:
    with pytest.raises(InvalidError, match="looks like the path of a key file") as refused:
        Client(NOWHERE, key=key).call("memory.count")
    assert "Path(" in str(refused.value.hint)
