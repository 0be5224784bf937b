"""What the params of most methods have in common, and how params are validated.

Most are a noun of ``memd/model`` and what every call may carry: whose memories
are meant, and for a write the key under which it happens once. Validation is
that of JSON in strict mode: a number in quotes is no number and ``true`` is not
1, while times, enums and sets are read from the strings and lists that JSON has.
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
    """Long work: with a *progress_token* the daemon sends ``$/progress`` under it."""

    progress_token: Name | int | None = None


class AgentParams(Params):
    """A call about one agent's memories; by default those of the caller's agent."""

    agent_id: Name | None = Field(
        default=None, validation_alias=AliasChoices("agent_id", "user_id")
    )


class KeyParams(Params):
    """A write; a repetition with the same *idempotency_key* has the first one's answer."""

    idempotency_key: Name | None = None


class WriteParams(AgentParams, KeyParams):
    """A write to one agent's memories."""


class IdParams(AgentParams):
    """One thing, by its id."""

    id: Name


class WriteIdParams(WriteParams):
    """A write to one thing, by its id."""

    id: Name


class PageParams(AgentParams):
    """A list, page by page: *after* is the last page's ``next``."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


P = TypeVar("P", bound=Params)

_ERRORS_SHOWN = 3


def validate(model: type[P], params: dict[str, Any]) -> P:
    """Return *params* as *model*; raises InvalidError naming the field and what is allowed.

    The message never holds the value that was given: it may be a memory's text.
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
    if detail.get("ctx", {}).get("field_type") == "Value":  # a text that was looked at before
        rule = rule.replace("Value should", "should").replace(" after validation", "")
        rule = rule.replace("item", "character")
    return rule.replace("Input should", "should").replace("Field required", "is required")
