"""``memd records``: list, show, count and export operational records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from memd.base.errors import InvalidError, NotFoundError
from memd.cli import console, options
from memd.cli.connection import call, daemon, iter_items
from memd.cli.tables import report_next, table, text_column, word_column

_PAGE_ITEMS = 500
_ENTITIES = (
    "tasks", "cost_records", "messages", "lifecycle_events", "task_metrics",
    "collaboration_metrics", "parked_contexts", "audit_entries", "users", "api_keys",
    "checkpoints", "heartbeats", "agent_states", "settings", "artifacts", "projects",
    "custom_presets",
)  # fmt: skip
_VERBS = ("list", "show", "export", "count")


@options.examples(
    "memd records tasks list",
    "memd records tasks list --where status=created --limit 20 --json",
    "memd records settings show ui theme",
    "memd records cost_records export > costs.jsonl",
)
def records(
    entity: Annotated[str, "ENTITY", "Entity: tasks, cost_records, messages, ..."],
    verb: Annotated[str, "VERB", "list, show, export or count."] = "list",
    key: Annotated[list[str] | None, "[KEY]...", "Key of the record; for show."] = None,
    where: Annotated[list[str] | None, "--where FIELD=VALUE", "Filter; may be repeated."] = None,
    limit: Annotated[int | None, "--limit N", "Page size of list; default: 100."] = None,
    after: options.After = None,
) -> None:
    """List, show, count or export tasks, costs and messages."""
    entity, verb = _validate(entity, verb)
    if (verb == "show") != bool(key):
        raise InvalidError(
            "show needs a KEY, and no other action takes one",
            hint=f"memd records {entity} show KEY; list takes --where FIELD=VALUE",
        )
    if verb != "list" and (limit is not None or after is not None):
        raise InvalidError(
            f"{verb} has no pages: --limit and --after are for list",
            hint=f"memd records {entity} list --limit 20",
        )
    filters = _parse_filters(where)
    if verb == "show":
        _show(entity, key or [])
    elif verb == "count":
        answer = _ask(f"records.{entity}.count", filters)
        console.answer(answer, str(answer["count"]))
    elif verb == "export":
        for record in _iterate(entity, filters):
            console.out(json.dumps(record, ensure_ascii=True))
    else:
        page = options.without_none(limit=limit, after=after)
        answer = _ask(f"records.{entity}.list", filters, **page)
        if console.print_if_json(answer):
            return
        _print_page(answer, "no records" if after is None else "no more records")
        report_next(answer)


def _validate(entity: str, verb: str) -> tuple[str, str]:
    if entity not in _ENTITIES:
        raise InvalidError(
            f"unknown entity {console.line(entity)}", hint=f"use one of {', '.join(_ENTITIES)}"
        )
    if verb not in _VERBS:
        raise InvalidError(
            f"unknown action {console.line(verb)}", hint=f"use one of {', '.join(_VERBS)}"
        )
    return entity, verb


def _parse_filters(where: list[str] | None) -> dict[str, str]:
    """Parse FIELD=VALUE arguments into filters.

    >>> _parse_filters(["status=created", "project=a=b"])
    {'status': 'created', 'project': 'a=b'}
    """
    names: dict[str, str] = {}
    for text in where or ():
        field, equals, value = text.partition("=")
        if not equals:
            raise InvalidError(
                f"--where must be FIELD=VALUE, not {console.line(text)}",
                hint="memd records tasks list --where status=created",
            )
        names[field] = value
    return names


def _ask(method: str, filters: dict[str, str], **page: Any) -> Any:
    """Call *method*. An error about one of *filters* is reworded to name ``--where``."""
    try:
        return call(method, **filters, **page)
    except InvalidError as error:
        if error.field in filters:
            raise InvalidError(f"--where {error.message}", hint=error.hint) from None
        raise


def _show(entity: str, key: list[str]) -> None:
    names = {
        "settings": ("namespace", "key"),
        "heartbeats": ("execution_id",),
        "agent_states": ("agent_id",),
        "custom_presets": ("name",),
    }.get(entity, ("id",))
    if len(key) != len(names):
        raise InvalidError(f"the key of {entity} is {' and '.join(names)}")
    key = [_unmark(part) for part in key]
    answer = call(f"records.{entity}.get", **dict(zip(names, key, strict=True)))
    if console.is_json():
        console.print_json(answer)
    elif answer["record"] is not None:
        for field, value in answer["record"].items():
            console.out(f"{field}: {_text(value)}")
    if answer["record"] is None:
        raise NotFoundError(
            f"no record of {entity} has the key {console.line(' '.join(key))}",
            hint=f"see: memd records {entity} list",
        )


def _unmark(key: str) -> str:
    r"""Return *key* without the backslash that a list adds to text that looks like memd's words.

    >>> _unmark(r"\memd:01a1"), _unmark("t1")
    ('memd:01a1', 't1')
    """
    from memd.view.labels import escape_output_line

    plain = key.removeprefix("\\")
    return plain if escape_output_line(plain) == key else key


def _iterate(entity: str, filters: dict[str, str]) -> Iterator[dict[str, Any]]:
    with daemon() as client:
        yield from iter_items(client, f"records.{entity}.list", {**filters, "limit": _PAGE_ITEMS})


def _print_page(answer: dict[str, Any], nothing: str) -> None:
    """Print the records of a page; *nothing* to stderr if there are none."""
    items = answer["items"]
    if not items:
        console.note(nothing)
        return
    key, *others = items[0]

    def text(item: dict[str, Any]) -> str:
        values = {name: item[name] for name in others if item[name] not in (None, "", [], {})}
        return ", ".join(f"{name}={_text(value)}" for name, value in values.items())

    table((word_column(key.upper(), key, whole=True), text_column("RECORD", text)), items)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return console.line(value)
    return console.line(json.dumps(value, ensure_ascii=False))
