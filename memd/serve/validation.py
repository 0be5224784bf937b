"""Validating the params of a method, and saying what is wrong with them.

Params are validated as JSON in strict mode: ``"1"`` and ``true`` are not numbers, while times,
enums and sets are read from strings and lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar, get_args

from pydantic import AliasChoices, BaseModel, ValidationError

from memd.base.errors import InvalidError
from memd.domain.enums import OrgFactCategory
from memd.domain.values import Value

V = TypeVar("V", bound=Value)

_ERRORS_SHOWN = 3
_NAMES_SHOWN = 20
"""Names of missing fields: all of a record."""
_SUBJECT: Final = re.compile(r"\A[A-Z][a-z]+ should")  # "Input should", "Value should" ...
_REWORDINGS: Final = (
    ("'", ""), (" after validation", ""), ("Field required", "is required"),
    ("greater than or equal to", "at least"), ("less than or equal to", "at most"),
)  # fmt: skip
_CATEGORY_HINT: Final = (
    "; what prompts call a decision is adr, a policy core_policy, a definition entity_definition"
)


def validate(model: type[V], params: dict[str, Any]) -> V:
    """Return *params* as *model*. Raises InvalidError that names the field and what is allowed.

    The message never contains the invalid value: it may be a memory's text.
    """
    try:
        return model.model_validate_json(json.dumps(params), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=True)
        # A list is counted without its invalid items, so of a value and a part of it only the part
        # is reported.
        above = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
        details = [detail for detail in details if detail["loc"] not in above]
        missing = [_path(detail["loc"], params) for detail in details if _is_missing(detail)]
        listed = missing[:_NAMES_SHOWN] if len(missing) > 1 else []
        parts = [f"required: {', '.join(listed)}"] if listed else []
        others = [detail for detail in details if not (listed and _is_missing(detail))]
        problems = [
            (_path(detail["loc"], params), _rule(model, detail))
            for detail in others[:_ERRORS_SHOWN]
        ]
        parts += [f"{path}: {rule}" if path else rule for path, rule in problems]
        if more := len(details) - len(problems) - len(listed):
            parts.append(f"and {more} more")
        field = listed[0] if listed else problems[0][0]
        raise InvalidError("; ".join(parts), field=field or None) from None


def _is_missing(detail: Any) -> bool:
    return bool(detail["type"] == "missing")


def _path(loc: tuple[int | str, ...], params: Any) -> str:
    """Return the dotted path of an error in *params*, without pydantic's names of union members."""
    steps, value = list[str](), params
    for step in loc:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            continue
        if str(step).isprintable():
            steps.append(str(step)[:64])
    return ".".join(steps)


def _rule(model: type[Value], detail: Any) -> str:
    """Return what is allowed, in memd's words, from one error of pydantic."""
    if detail["type"] == "extra_forbidden":
        return _unknown(_model_at(model, detail["loc"][:-1]), str(detail["loc"][-1]))
    if detail["type"].startswith(("datetime_", "timezone_")):
        return "must be a time with its zone, such as 2026-11-20T09:30:00Z"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    rule: str = _SUBJECT.sub("must", detail["msg"])
    if f"'{OrgFactCategory.ADR}'" in rule:
        rule += _CATEGORY_HINT
    if detail.get("ctx", {}).get("field_type") == "Value":  # so pydantic calls validated strings
        rule = rule.replace("item", "character")
    for old, new in _REWORDINGS:
        rule = rule.replace(old, new)
    return rule


def _unknown(model: type[BaseModel] | None, name: str) -> str:
    """Return that *model* has no field *name*, and which it has."""
    if model is None:
        return "is unknown"
    for field_name, field in model.model_fields.items():
        alias = field.validation_alias
        if isinstance(alias, AliasChoices) and name in alias.choices:
            return f"is another name of {field_name}: give only one of them"
    guesses = get_close_matches(name[:64], known := sorted(model.model_fields), 1)
    guess = f"did you mean {guesses[0]}? " if guesses else ""
    return f"is unknown; {guess}there are {', '.join(known) or 'no parameters'}"


def _model_at(model: type[BaseModel], loc: Sequence[int | str]) -> type[BaseModel] | None:
    """Return the model of the value at *loc* in *model*, None if it is not one model."""
    for step in loc:
        if isinstance(step, int):
            continue  # an item of a list, of whose items the annotation tells
        field = model.model_fields.get(step)
        models = list(_models_in(field.annotation)) if field else []
        if len(models) != 1:
            return None
        model = models[0]
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in an annotation such as ``tuple[Model, ...]`` or ``Model | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
