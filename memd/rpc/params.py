"""The params of each method, as pydantic models.

Most are a noun of ``memd/model`` and what every call may carry: whose memories
are meant, and for a write the key under which it happens once. Validation is
that of JSON in strict mode: a number in quotes is no number and ``true`` is not
1, while times, enums and sets are read from the strings and lists that JSON has.
"""

from __future__ import annotations

import json
from typing import Any, Literal, Self, TypeVar

from pydantic import AliasChoices, ConfigDict, Field, ValidationError, model_validator

from memd.base.errors import InvalidError
from memd.base.limits import INGEST_ITEMS_MAX, PAGE_ITEMS_MAX
from memd.model.enums import MemoryCategory
from memd.model.ingest import IngestManyRequest, IngestRequest, ReplaceSourceRequest
from memd.model.memory import (
    MemoryEntry,
    MemoryFilter,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.model.recall import RecallRequest
from memd.model.settings import MemoryConfig
from memd.model.values import Name, PlainText, Text, Value


class Params(Value):
    """The params of a method; a method without any has exactly these."""

    model_config = ConfigDict(defer_build=True)


class Progressing(Params):
    """Long work: with a *progress_token* the daemon sends ``$/progress`` under it."""

    progress_token: Name | int | None = None


class Scoped(Params):
    """A call about one agent's memories; by default those of the caller's agent."""

    agent_id: Name | None = Field(
        default=None, validation_alias=AliasChoices("agent_id", "user_id")
    )


class Keyed(Params):
    """A write; a repetition with the same *idempotency_key* has the first one's answer."""

    idempotency_key: Name | None = None


class Writing(Scoped, Keyed):
    """A write to one agent's memories."""


class ById(Scoped):
    """One thing, by its id."""

    id: Name


class Why(ById):
    """One memory; with *full* the messages behind it are whole."""

    full: bool = False


class WritingById(Writing):
    """A write to one thing, by its id."""

    id: Name


class Paged(Scoped):
    """A list, page by page: *after* is the last page's ``next``."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class TurnedAway(Scoped):
    """Whose: one agent's, or with *everybody* all that were turned away."""

    everybody: bool = False


class ListTurnedAway(Paged):
    """A page of what was turned away: one agent's, or with *everybody* all agents'."""

    everybody: bool = False


class Hello(Params):
    """Who says hello. Only *client_key* grants anything; the rest is told to the log."""

    client: Name | None = None
    version: Name | None = None
    protocol: int | None = None
    client_key: Name | None = None


class Metrics(Params):
    """In which form to tell the counters."""

    format: Literal["json", "prometheus"] = "json"


class Ingest(IngestRequest, Writing):
    """A text to become memories."""


class IngestMany(IngestManyRequest, Writing, Progressing):
    """Several texts."""


class ReplaceSource(ReplaceSourceRequest, Writing):
    """What a source says now."""


class Store(MemoryStoreRequest, Writing):
    """One text, stored as it is."""


class Recall(RecallRequest, Scoped):
    """A question."""


class Retrieve(MemoryQuery, Scoped):
    """A search, or without a text a listing."""


class Update(MemoryUpdate, WritingById):
    """What is to change in the memory *id*."""


class ListMemories(MemoryFilter, Paged):
    """Which memories to list, and from where."""


class Count(Scoped):
    """Whose memories to count, and of which category."""

    category: MemoryCategory | None = Field(
        default=None, validation_alias=AliasChoices("category", "memory_type")
    )


class Forget(Writing):
    """What to erase: these *ids*, or all that fits *filter*, or all of one *source*."""

    ids: tuple[Name, ...] | None = Field(default=None, min_length=1, max_length=PAGE_ITEMS_MAX)
    filter: MemoryFilter | None = None
    source: Name | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.ids is None and self.filter is None and self.source is None:
            raise ValueError("one of ids, filter and source must be given")
        return self


class PreferenceName(Scoped):
    """One preference, by its name."""

    name: Name


class DeletePreference(Writing):
    """The preference to delete."""

    name: Name


class ConfirmPreference(Writing):
    """The preference that the owner stands by, and what it says, so that it is not another one."""

    name: Name
    value: Text | None = None


class SetPreference(Writing):
    """A preference and its new value."""

    name: Name
    value: Text


class Rebuild(Progressing):
    """Nothing but where to tell the progress."""


class NoteCopy(Params):
    """The absolute path of a copy that the caller is about to make; forgetting will name it.

    Told again once it is *made*: then the daemon knows whether it can see that place.
    """

    target: Text
    made: bool = False


class Import(Progressing):
    """Memories as ``memory.list`` gave them; each is stored under the agent it names."""

    items: tuple[MemoryEntry, ...] = Field(min_length=1, max_length=INGEST_ITEMS_MAX)


class Dump(Params):
    """Where to go on: *after* is the last page's ``next``."""

    after: PlainText | None = None
    limit: int = Field(default=250, ge=1, le=PAGE_ITEMS_MAX)


class Load(Params):
    """Records as ``store.dump`` gave them, in their order."""

    items: tuple[dict[str, Any], ...] = Field(min_length=1, max_length=PAGE_ITEMS_MAX)


class SetAgent(MemoryConfig, Writing):
    """What an agent is to do differently; what is not given stays as it was."""


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
        told = [(_path(detail["loc"]), _rule(model, detail)) for detail in details[:_ERRORS_SHOWN]]
        more = len(details) - len(told)
        message = "; ".join(f"{path}: {rule}" if path else rule for path, rule in told)
        raise InvalidError(
            message + (f"; and {more} more" if more else ""), field=told[0][0] or None
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
