"""Memories in the files of MCP's server-memory and of mem0.

Each becomes one ingest item, with its subject in the text, so that it can be understood alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memd.base.limits import NAME_CHARS_MAX
from memd.cli.notes.note import merge_tags

KNOWN = "MCP's server-memory and mem0"

_ENTITY, _RELATION = "entity", "relation"
_WORD_ENDS = re.compile(r"[_\s]+|(?<=[a-z])(?=[A-Z])")
"""Where to split the name of a relation into words: ``works_at``, ``worksAt``."""


@dataclass(slots=True)
class ForeignMemories:
    """The memories of another program as ingest items."""

    by_user: dict[str | None, list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The items of each user or agent of that program; None: of nobody."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Fields that memd has no place for, and how many memories have each."""


def parse_memories(text: str) -> ForeignMemories | None:
    r"""Return the memories in *text*, or None for an unknown format.

    >>> graph = '{"type": "entity", "name": "Ada", "observations": ["likes tea"]}'
    >>> parse_memories(graph).by_user
    {None: [{'text': 'Ada: likes tea', 'origin': 'import', 'tags': ['Ada']}]}
    """
    lines = _lines(text)
    if lines is not None:
        return ForeignMemories({None: list(_of_graph(lines))})
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(whole, Mapping) and {"entities", "relations"} <= whole.keys():
        marked = [{**item, "type": _ENTITY} for item in _objects(whole["entities"])]
        marked += [{**item, "type": _RELATION} for item in _objects(whole["relations"])]
        return ForeignMemories({None: list(_of_graph(marked))})
    rows = whole.get("results", whole.get("memories")) if isinstance(whole, Mapping) else whole
    objects = _objects(rows)
    if objects and all(isinstance(row.get("memory"), str) for row in objects):
        return _of_mem0(objects)
    return None


def _lines(text: str) -> list[Mapping[str, Any]] | None:
    """Return the lines of a server-memory file, or None if a line is something else."""
    objects: list[Mapping[str, Any]] = []
    for line in filter(str.strip, text.split("\n")):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, Mapping) or value.get("type") not in {_ENTITY, _RELATION}:
            return None
        objects.append(value)
    return objects or None


def _objects(value: object) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _of_graph(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["type"] == _RELATION:
            ends = [text_of(row.get("from")), text_of(row.get("to"))]
            relation = " ".join(_WORD_ENDS.split(text_of(row.get("relationType")))).lower()
            if relation and all(ends):
                yield _item(f"{ends[0]} {relation} {ends[1]}", ends)
            continue
        name, kind = text_of(row.get("name")), text_of(row.get("entityType"))
        subject = f"{name} ({kind})" if kind else name
        for observation in row.get("observations") or ():
            if name and text_of(observation):
                yield _item(f"{subject}: {text_of(observation)}", [name])


_MEM0_OWN = {"id", "hash", "score", "updated_at"}
"""Fields of mem0 that memd has its own of."""
_METADATA = "metadata."


def _of_mem0(rows: Sequence[Mapping[str, Any]]) -> ForeignMemories:
    memories = ForeignMemories()
    for row in rows:
        fields = _mem0_fields(row)
        user = _take_name(fields, "user_id") or _take_name(fields, "agent_id")
        memories.by_user[user or None].append(_take_mem0_item(fields))
        memories.left_out.update(fields.keys())
    return memories


def _mem0_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that have a value, those of its metadata with a prefix."""
    fields = {name: value for name, value in row.items() if name not in _MEM0_OWN}
    if isinstance(row.get("metadata"), Mapping):
        metadata = fields.pop("metadata")
        fields |= {f"{_METADATA}{name}": value for name, value in metadata.items()}
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def _take_mem0_item(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the ingest item, removing what it holds from *fields*."""
    is_list = isinstance(fields.get("categories"), list)
    categories = fields.pop("categories") if is_list else []
    keys = [name for name in fields if name.startswith(_METADATA)]
    values = [(key.removeprefix(_METADATA), _take_name(fields, key)) for key in keys]
    tags = [tag for tag in categories if isinstance(tag, str)]
    tags += [f"{key}:{value}" for key, value in values if value]
    item = _item(text_of(fields.pop("memory")), tags)
    if run := _take_name(fields, "run_id"):
        item["session_id"] = run
    if isinstance(fields.get("created_at"), str):
        item["occurred_at"] = fields.pop("created_at")
    return item


def _take_name(fields: dict[str, Any], name: str) -> str:
    """Remove a field and return its value, or "" if it is neither a number nor a short text."""
    value = fields.get(name)
    text = json.dumps(value) if isinstance(value, int | float) else text_of(value)
    if not text or len(text) > NAME_CHARS_MAX or not text.isprintable():
        return ""
    del fields[name]
    return text


def _item(text: str, tags: Sequence[str]) -> dict[str, Any]:
    item: dict[str, Any] = {"text": text, "origin": "import"}
    unique_tags = merge_tags([tag[:NAME_CHARS_MAX] for tag in tags], [])
    return {**item, "tags": unique_tags} if unique_tags else item


def text_of(value: object) -> str:
    """Return *value* without white space around it, "" if it is no text."""
    return value.strip() if isinstance(value, str) else ""
