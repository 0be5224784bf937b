"""Base classes of the methods' params, and their validation.

The params of most methods are a model of ``memd/domain`` plus what every call may carry:
the agent whose memories are meant, and for a write its idempotency key. Params are
validated as JSON in strict mode: a number in quotes is no number and ``true`` is not 1,
while times, enums and sets are read from JSON's strings and lists.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import AliasChoices, ConfigDict, Field, ValidationError

from memd.base.errors import InvalidError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.values import Name, Value


class Params(Value):
    """The params of a method; a method without any has exactly these."""

    model_config = ConfigDict(defer_build=True)


class ProgressParams(Params):
    """Params of a long operation: with a *progress_token* the daemon sends ``$/progress``."""

    progress_token: Name | int | None = None


class AgentParams(Params):
    """Params of a call about one agent's memories, by default the caller's agent."""

    agent_id: Name | None = Field(
        default=None, validation_alias=AliasChoices("agent_id", "user_id")
    )


class KeyParams(Params):
    """Params of a write; a repetition with the same *idempotency_key* gets the first answer."""

    idempotency_key: Name | None = None


class WriteParams(AgentParams, KeyParams):
    """Params of a write to one agent's memories."""


class IdParams(AgentParams):
    """Params that name one item by its id."""

    id: Name


class WriteIdParams(WriteParams):
    """Params of a write to one item, by its id."""

    id: Name


class PageParams(AgentParams):
    """Params of a paged list: *after* is the ``next`` of the page before."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


P = TypeVar("P", bound=Params)

_ERRORS_SHOWN = 3


def validate(model: type[P], params: dict[str, Any]) -> P:
    """Return *params* as *model*. Raises InvalidError that names the field and what is allowed.

    The message never contains the invalid value: it may be a memory's text.
    """
    try:
        return model.model_validate_json(json.dumps(params), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=True)
        problems = [
            (_path(detail["loc"]), _rule(model, detail)) for detail in details[:_ERRORS_SHOWN]
        ]
        more = len(details) - len(problems)
        message = "; ".join(f"{path}: {rule}" if path else rule for path, rule in problems)
        raise InvalidError(
            message + (f"; and {more} more" if more else ""), field=problems[0][0] or None
        ) from None


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(step)[:64] for step in loc if str(step).isprintable())


def _rule(model: type[Params], detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        if len(detail["loc"]) > 1:
            return "is unknown"
        return f"is unknown; there are {', '.join(sorted(model.model_fields)) or 'no parameters'}"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    rule: str = detail["msg"]
    if (
        detail.get("ctx", {}).get("field_type") == "Value"
    ):  # a validated type: pydantic names the class
        rule = rule.replace("Value should", "should").replace(" after validation", "")
        rule = rule.replace("item", "character")
    return rule.replace("Input should", "should").replace("Field required", "is required")
