"""``records.<entity>.<verb>``: the methods of every entity, built from its declaration (SPEC 19).

Loaded with the first such call, so that the start does not build the models of all entities.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, TypeVar

import pydantic_core
from pydantic import Field, create_model

from memd.base.limits import PAGE_ITEMS_MAX, REPLY_BYTES_MAX
from memd.domain.values import PlainText, Time, Value
from memd.records.columns import field_types, to_json
from memd.records.entities import ENTITIES, Entity
from memd.records.models import CostTotal, StoredSetting
from memd.records.records import Range, RowPage
from memd.serve.routes.routes import Context, JsonAnswer, KeyParams, Params, Router

router = Router()
_AROUND_BYTES: Final = 16_384
"""Reserved for the parts of an answer besides the records: the request's id and ``next``."""
P = TypeVar("P", bound=Params)


class SaveResult(Value):
    """A saved record; *added* when there was none with its key."""

    added: bool


class RecordCount(Value):
    """A number of records."""

    count: int


class SetParams(KeyParams):
    """A setting, and in *expected* its ``updated_at`` as last read, "" if there was none.

    If *expected* is null or missing, the setting is set unconditionally.
    """

    record: StoredSetting
    expected: PlainText | None = None


class PurgeParams(KeyParams):
    """The time before which records are deleted."""

    before: Time


def _params(entity: Entity, what: str, base: type[Params] = Params, **fields: Any) -> type[Params]:
    name = f"{entity.name.title().replace('_', '')}{what}Params"
    return create_model(name, __base__=base, __doc__=f"{what} {entity.name}.", **fields)


def _filters(entity: Entity) -> dict[str, Any]:
    kinds = field_types(entity.model)
    fields: dict[str, Any] = {name: (kinds[name] | None, None) for name in entity.filters}
    if entity.time is not None:
        fields |= {"since": (Time | None, None), "until": (Time | None, None)}
    return fields


def _read_filters(entity: Entity, params: Any) -> tuple[dict[str, Any], Range]:
    where = {name: getattr(params, name) for name in entity.filters}
    return where, Range(getattr(params, "since", None), getattr(params, "until", None))


def _key(entity: Entity, params: Any) -> tuple[str, ...]:
    return tuple(getattr(params, name) for name in entity.key)


def _declare_record_methods(entity: Entity, prefix: str) -> None:
    """Declare the methods for one record by its key."""
    kinds = field_types(entity.model)
    key: dict[str, Any] = {name: (kinds[name], ...) for name in entity.key}
    answer: dict[str, Any] = {"record": (entity.model | None, None)}
    model = create_model(f"{entity.model.__name__}Answer", **answer)
    title = entity.model.__name__

    @router.method(
        f"{prefix}.save",
        f"Save one {title} record.",
        scope=entity.writing,
        writes=True,
        types=(_params(entity, "Save", KeyParams, record=(entity.model, ...)), SaveResult),
    )
    async def save(context: Context, params: Any) -> SaveResult:
        added = await context.rooms.records.save(context.caller, entity, params.record)
        return SaveResult(added=added)

    @router.method(
        f"{prefix}.get",
        f"Get one {title} record; `record` is null if there is none.",
        scope=entity.reading,
        writes=False,
        types=(_params(entity, "Get", **key), model),
    )
    async def get(context: Context, params: Any) -> Any:
        record = await context.rooms.records.get(context.caller, entity, _key(entity, params))
        return model(record=record)

    if entity.deletes:

        @router.method(
            f"{prefix}.delete",
            f"Delete one {title} record.",
            scope=entity.writing,
            writes=True,
            types=(_params(entity, "Delete", KeyParams, **key), RecordCount),
        )
        async def delete(context: Context, params: Any) -> RecordCount:
            where = {name: getattr(params, name) for name in entity.key}
            return RecordCount(
                count=await context.rooms.records.delete(context.caller, entity, where)
            )


def _declare_list_methods(entity: Entity, prefix: str) -> None:
    """Declare the methods over all records of an entity."""
    filters, title = _filters(entity), entity.model.__name__
    pages: dict[str, Any] = {
        **filters,
        "after": (PlainText | None, None),
        "limit": (int, Field(default=100, ge=1, le=PAGE_ITEMS_MAX)),
    }
    answer: dict[str, Any] = {
        "items": (tuple[entity.model, ...], ...),  # type: ignore[name-defined]  # a model
        "next": (str | None, None),
    }
    page = create_model(f"{title}Page", **answer)

    @router.method(
        f"{prefix}.list",
        f"List the {title} records that match all filters.",
        scope=entity.reading,
        writes=False,
        types=(_params(entity, "List", **pages), page),
    )
    async def list_(context: Context, params: Any) -> Any:
        where, times = _read_filters(entity, params)
        result = await context.rooms.records.page(
            context.caller, entity, where, times=times, after=params.after, limit=params.limit
        )
        return JsonAnswer(result.rows, partial(as_json, result))

    @router.method(
        f"{prefix}.count",
        f"Count {title} records.",
        scope=entity.reading,
        writes=False,
        types=(_params(entity, "Count", **filters), RecordCount),
    )
    async def count(context: Context, params: Any) -> RecordCount:
        where, times = _read_filters(entity, params)
        return RecordCount(
            count=await context.rooms.records.count(context.caller, entity, where, times)
        )

    if entity.time is not None:

        @router.method(
            f"{prefix}.purge", f"Delete the {title} records before a time.", scope="admin"
        )
        async def purge(context: Context, params: PurgeParams) -> RecordCount:
            caller, before = context.caller, params.before
            return RecordCount(
                count=await context.rooms.records.delete(caller, entity, {}, before=before)
            )


def as_json(page: RowPage) -> bytes:
    """Return *page* as JSON, with fewer rows if the answer would be too long.

    Rendered from rows, not from models, which halves the time.
    """
    parts: list[bytes] = []
    remaining = REPLY_BYTES_MAX - _AROUND_BYTES
    for row in page.rows:
        part = pydantic_core.to_json(to_json(page.entity.model, row), inf_nan_mode="null")
        remaining -= len(part) + 1
        if parts and remaining < 0:
            page = page._replace(rows=page.rows[: len(parts)], has_more=True)
            break
        parts.append(part)
    after = pydantic_core.to_json(page.next)
    return b'{"items":[' + b",".join(parts) + b'],"next":' + after + b"}"


for _entity in ENTITIES.values():
    _declare_record_methods(_entity, f"records.{_entity.name}")
    _declare_list_methods(_entity, f"records.{_entity.name}")


@router.method("records.settings.set", "Set a stored setting, by compare-and-swap.", scope="write")
async def set_setting(context: Context, params: SetParams) -> SaveResult:
    records = context.rooms.records
    added = await records.set(context.caller, params.record, expected=params.expected)
    return SaveResult(added=added)


_COSTS = ENTITIES["cost_records"]
_COST_FILTERS: dict[str, Any] = {
    name: (kind | None, None)
    for name, kind in field_types(_COSTS.model).items()
    if name in {"agent_id", "task_id"}
}
_AggregateParams = _params(_COSTS, "Aggregate", **_COST_FILTERS)


@router.method(
    "records.cost_records.aggregate", "Sum up cost records.", types=(_AggregateParams, CostTotal)
)
async def aggregate(context: Context, params: Any) -> CostTotal:
    where = {"agent_id": params.agent_id, "task_id": params.task_id}
    return await context.rooms.records.total(context.caller, where)
