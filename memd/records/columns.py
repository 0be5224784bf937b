"""Map models to rows: the names and types of columns, and the conversion of values.

A time is stored as microseconds (``_us``), an enumeration as text with a CHECK, a list or an
object as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AwareDatetime

from memd.base.clock import from_us, to_us
from memd.base.errors import MalformedRowError
from memd.domain.values import Value
from memd.guard.redaction import redact, redact_all
from memd.store.records.table import RecordColumn

M = TypeVar("M", bound=Value)
Stored = str | int | float | None


@cache
def _types(model: type[Value]) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it is optional."""
    hints = get_type_hints(model)
    return {name: _unwrap(hints[name]) for name in model.model_fields}


def _unwrap(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not NoneType]
        return _unwrap(inner[0])[0], True
    return datetime if hint is AwareDatetime else hint, False


def field_types(model: type[Value]) -> dict[str, Any]:
    """Return the annotation of each field, with bounds and None if it is optional."""
    hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in model.model_fields}


def column_name(model: type[Value], field: str) -> str:
    """Return the name of a field's column: a time has the suffix ``_us``."""
    return f"{field}_us" if _types(model)[field][0] is datetime else field


def columns_of(model: type[Value], references: Mapping[str, str]) -> tuple[RecordColumn, ...]:
    """Return the columns of *model*; *references* maps fields to the tables they refer to."""
    return tuple(
        RecordColumn(
            column_name(model, name),
            _sql_type(kind),
            required=not optional or name == "id",
            check=_check(name, kind),
            references=references.get(name),
            default=None if optional or name in references else _default(model, name),
        )
        for name, (kind, optional) in _types(model).items()
    )


def _default(model: type[Value], name: str) -> str | None:
    """Return the default of a field as SQL, or None."""
    field = model.model_fields[name]
    if field.is_required():
        return None
    value = to_stored(field.get_default(call_default_factory=True))
    if value is None:
        return None
    return str(int(value)) if isinstance(value, bool) else _sql_literal(value)


def _sql_literal(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _sql_type(kind: Any) -> Literal["INTEGER", "REAL", "TEXT"]:
    if kind is float:
        return "REAL"
    return "INTEGER" if kind in (int, bool, datetime) else "TEXT"


def _check(name: str, kind: Any) -> str | None:
    if get_origin(kind) is Literal:
        return f'"{name}" IN ({", ".join(repr(value) for value in get_args(kind))})'
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return f'"{name}" IN ({", ".join(repr(member.value) for member in kind)})'
    if kind is bool:
        return f'"{name}" IN (0, 1)'
    if kind in (int, float):
        return f'"{name}" >= 0'
    if get_origin(kind) in (tuple, dict):
        return f'json_valid("{name}")'
    return None


def to_stored(value: Any) -> Stored:
    """Return *value* as it is stored in SQLite."""
    if isinstance(value, datetime):
        return to_us(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple | list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)


def to_row(record: Value) -> dict[str, Stored]:
    """Return the stored value of each column."""
    model = type(record)
    return {column_name(model, name): to_stored(getattr(record, name)) for name in _types(model)}


def from_row(model: type[M], row: Sequence[Any]) -> M:
    """Return the record of *row*; raises MalformedRowError for an invalid one."""
    try:
        fields = {
            name: _from_stored(kind, value)
            for (name, (kind, _)), value in zip(_types(model).items(), row, strict=True)
        }
        return model.model_validate(fields)
    except ValueError:  # a ValidationError is one
        raise _malformed_error(model) from None


def to_json(model: type[Value], row: Sequence[Any]) -> dict[str, Any]:
    """Return the record of *row* as JSON, its texts redacted (PROMISES 5).

    It equals ``from_row(...).model_dump(mode="json")``, but does not validate again what SQLite
    enforces: types, ranges and enumerations. Raises MalformedRowError for JSON of another
    shape.
    """
    try:
        return {
            name: value if value is None or convert is None else convert(value)
            for (name, convert), value in zip(_json_converters(model), row, strict=True)
        }
    except (ValueError, TypeError):
        raise _malformed_error(model) from None


@cache
def _json_converters(model: type[Value]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    """Return each field with the converter of its column to JSON; None for no conversion."""
    return tuple((name, _json_converter(kind)) for name, (kind, _) in _types(model).items())


def _json_converter(kind: Any) -> Callable[[Any], Any] | None:
    if kind is datetime:
        return _time
    if kind is bool:
        return bool
    origin = get_origin(kind)
    if origin is dict:
        return partial(_json, dict)
    if origin is tuple:
        return partial(_json, list)
    if kind in (int, float) or origin is Literal or issubclass(kind, StrEnum):
        return None  # enforced by STRICT tables and their checks
    return redact


def _time(value: int) -> str:
    return from_us(value).isoformat().removesuffix("+00:00") + "Z"


def _json(shape: type, value: Any) -> Any:
    if value == "[]":
        return []  # the usual case, without parsing
    content = json.loads(value)
    if type(content) is not shape:
        raise TypeError
    return redact_all(content)


def _malformed_error(model: type[Value]) -> MalformedRowError:
    return MalformedRowError(f"a stored {model.__name__} is not as memd writes it")


def _from_stored(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if kind is datetime:
        return from_us(value)
    if get_origin(kind) in (tuple, dict):
        return json.loads(value)
    return bool(value) if kind is bool else value
