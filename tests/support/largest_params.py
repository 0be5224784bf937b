"""Calls of every method with params as large as allowed, with a given text in them.

The fields are read from each method's params, so new methods and fields are included. What a schema
does not say is in ``_CALLS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from support.canaries import NOT_CALLED, schema_of

from memd.base.limits import FRAME_BYTES_MAX, INGEST_ITEMS_MAX, NAP_MESSAGES_MAX, TEXT_CHARS_MAX
from memd.serve.routes.routes import methods

FRAME_BYTES = FRAME_BYTES_MAX - 20_000  # of what is said; the rest is for its fields
_LONG_CHARS = 1_000
_NAMED = "a name"

HONEST = (
    "We decided in the meeting on Monday that the billing service moves to Postgres 16, because "
    "Ann said the old cluster is too slow. The script tools/deploy.py reads config.yaml; it failed "
    "twice with exit code 3. I prefer short answers, and my favourite editor is Vim.\n\n"
)
# What patterns begin with, long runs of one kind, nests: each made quadratic at least one
# pattern that somebody wrote.
UNITS = (
    "eyJaaaaaaaa", "eyJaaaaaaaa.", "-eyJ", "ghp_", "sk-a1", "xoxb-1a\n", "://a:", "AKIA\n",
    "-----BEGIN PRIVATE KEY-----a", "bearer a1", "4111 1111 ", "DE89 3704 ", "\u30fc",
    "\u2039\u2571", "\u2039\u2571memory", "</memory", "<", " ", "\n", " \n\t", "a", "A", "1",
    "1911 ", "a ", "Aa ", ". ", ".", "'", "\"", "`", "(", "[", "{", "[[", "](", "```\n", "- a\n",
    "> ", "| a ", "# ", "a_", "_a", "a.", "a/", "a-", "a: ", "a=", "ignore all ", "\\u0061",
    "%41", "&#x41;", "I prefer ", "to a from ", "and ", "then ", "on Monday ", "<!-- Session ",
    "\u5e02", "\uac00", "e\u0301", "a\u200b", "\U000e0041", "\u2028",
)  # fmt: skip


def honest(size: int) -> str:
    """Return prose of *size* bytes."""
    return (HONEST * (size // len(HONEST) + 1))[:size]


def hostile(size: int) -> str:
    """Return every unit repeated, all of them together in *size* bytes."""
    share = size // len(UNITS)
    return "".join(unit * (share // len(unit.encode())) for unit in UNITS)


def calls(
    made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every method with its largest params: one text as long as may be in each call.

    *made* makes a text of so many bytes. *ids* has those of things that are there.
    """
    for name in methods():
        if name not in NOT_CALLED:
            for params in _CALLS.get(name, _by_schema)(name, made, ids):
                yield name, params


# From the schema.


def _by_schema(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    schema = schema_of(name)
    fields: dict[str, Any] = schema.get("properties", {})
    needed = set(schema.get("required", ()))
    small = {
        field: ids.get(field, _small(_plain(fields[field], schema))) for field in sorted(needed)
    }
    limit = {"limit": fields["limit"]["maximum"]} if "maximum" in fields.get("limit", {}) else {}
    long = [field for field in fields if _length(_plain(fields[field], schema)) >= _LONG_CHARS]
    if not long:
        yield {**small, **limit}
    for field in long:
        size = min(_length(_plain(fields[field], schema)), FRAME_BYTES)
        yield {**small, **limit, field: made(size)[:size]}


def _plain(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        return _plain(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    for among in ("anyOf", "oneOf", "allOf"):
        kinds = [_plain(each, root) for each in schema.get(among, ())]
        if kinds:
            return max(kinds, key=lambda kind: (kind.get("type") != "null", _length(kind)))
    return schema


def _length(schema: Mapping[str, Any]) -> int:
    if schema.get("type") != "string" or "enum" in schema or "format" in schema:
        return 0
    if "pattern" in schema:
        return 0
    return int(schema.get("maxLength", TEXT_CHARS_MAX))


def _small(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    kind = schema.get("type")
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    if kind == "array":
        return [_small(schema.get("items", {"type": "string"}))]
    return {"string": _NAMED, "integer": 1, "number": 0.5, "boolean": False}.get(str(kind), {})


# What a schema cannot know.

_Made = Callable[[str, Callable[[int], str], Mapping[str, str]], Iterator[dict[str, Any]]]


def _files(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del name, ids
    path = "/memories/long"
    text = made(FRAME_BYTES)[:TEXT_CHARS_MAX]
    yield {"command": "create", "path": path, "file_text": text}
    yield {"command": "view", "path": path}
    yield {"command": "str_replace", "path": path, "old_str": text[0], "new_str": "x"}
    yield {"command": "str_replace", "path": path, "old_str": text[: len(text) // 2],
           "new_str": text[: len(text) // 3]}  # fmt: skip
    yield {"command": "insert", "path": path, "insert_line": 0, "insert_text": "first"}
    yield {"command": "view", "path": path, "view_range": [1, 2]}
    yield {"command": "view", "path": "/memories/remembered/semantic.md"}
    yield {"command": "delete", "path": path}


def _tools(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del name, ids
    for tool, field in (
        ("search_memory", "query"),
        ("core_memory_append", "content"),
        ("archival_memory_insert", "content"),
        ("archival_memory_search", "query"),
        ("session_search", "query"),
    ):
        yield {"name": tool, "arguments": {field: made(FRAME_BYTES)}}


def _messages(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del ids
    more: dict[str, Any] = {"session_id": f"session of {name}"}
    if name == "usage.report":
        more |= {"source": "test", "used_tokens": 99, "window_tokens": 100, "return_messages": True}
    if name == "sleep.estimate_tokens":
        more = {}
    text = made(FRAME_BYTES)
    few = NAP_MESSAGES_MAX
    size = max(1, FRAME_BYTES // few - 60)
    yield {"messages": [{"role": "user", "content": text}], **more}
    yield {
        "messages": [
            {"role": "user", "content": text[at : at + 8]} for at in range(0, size * few // 8, 8)
        ][:few],
        **more,
    }


def _long_item(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del name, ids
    yield {"items": [{"text": made(FRAME_BYTES)[:TEXT_CHARS_MAX]}]}


def _many_items(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield as many as may be: what reads them is the same as for ``memory.ingest_many``."""
    del name, ids
    text = made(FRAME_BYTES)
    each = max(1, len(text) // INGEST_ITEMS_MAX - 80)
    items = [{"text": text[at * each :][:each] + f" {at}"} for at in range(INGEST_ITEMS_MAX)]
    yield {"items": items, "source": "notes.md"}


def _triples(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del name, ids
    yield {"subject": made(255)[:255], "relation": "uses", "object": "SQLite"}


def _nothing(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del name, made, ids
    yield {}


def _imports(
    name: str, made: Callable[[int], str], ids: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    del ids
    item = {
        "id": f"of {name}",
        "agent_id": "importer",
        "category": "semantic",
        "namespace": "default",
        "content": made(FRAME_BYTES)[:TEXT_CHARS_MAX],
        "created_at": "2026-01-02T03:04:05Z",
        "metadata": {},
    }
    yield {"items": [item]}


_CALLS: dict[str, _Made] = {
    "graph.add": _triples,
    "inject.call": _tools,
    "inject.file": _files,
    "memory.ingest_many": _long_item,
    "memory.replace_source": _many_items,
    "sleep.consolidate": _messages,
    "sleep.estimate_tokens": _messages,
    "skill.export": _nothing,
    "sleep.run": _nothing,
    "store.backup": _nothing,
    "store.import": _imports,
    "store.rebuild": _nothing,
    "usage.report": _messages,
    "wiki.export": _nothing,
}
