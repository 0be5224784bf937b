"""Calls of every writing method of the socket with a given text in each field.

The fields are read from the method's params, so new methods and fields are included. What a schema
does not say is in ``CALLS``: a method that needs something to exist, or a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memd.base.errors import MemdError
from memd.client import Client
from memd.serve.routes.routes import methods

Say = Callable[[str], str]
"""Makes the text of a field from the field's name."""

NOT_CALLED = frozenset(
    (
        "client.revoke",
        "owner.set",
        "system.hello",  # a key that is nobody's takes the connection's rights
        "system.reload",
        "system.shutdown",
    )
)
"""Would end the daemon or the caller's rights, or need a person's key."""


def calls(say: Say, made: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every writing call there is, with ``say(field)`` in each field that takes a text.

    *made* has the ids of things that are there: ``memory``, ``fact``.
    """
    for name in writing():
        yield from ((name, params) for params in _CALLS.get(name, _by_schema)(name, say, made))


def writing() -> list[str]:
    """Return the names of all methods that write or take texts that are kept."""
    also = {"usage.report", "sleep.compress"}
    return sorted(
        name
        for name, method in methods().items()
        if (method.writes or name in also) and name not in NOT_CALLED
    )


def asking(say: Say) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every reading call that a schema can make up, its texts from *say*."""
    for name, method in methods().items():
        if not method.writes and name not in NOT_CALLED:
            for params in _CALLS.get(name, _by_schema)(name, say, {}):
                yield name, params


def planted(client: Client, say: Say, made: Mapping[str, str]) -> dict[str, list[str]]:
    """Make every writing call; return for each method what became of its calls."""
    became: dict[str, list[str]] = {}
    for name, params in calls(say, made):
        became.setdefault(name, []).append(outcome(client, name, params))
    return became


def outcome(client: Client, name: str, params: Mapping[str, Any]) -> str:
    """Return ``done`` or the kind of the error."""
    try:
        client.call(name, dict(params))
    except MemdError as error:
        return error.kind
    return "done"


def bytes_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file below *folder* with its bytes."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


# From the schema.


@cache
def schema_of(name: str) -> Mapping[str, Any]:
    """Return the schema of the params of method *name*, made once: many ask for it."""
    return methods()[name].params.model_json_schema()


def _by_schema(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield one call with all its texts, and one for each field alone beside what is required.

    One call may be refused for one bad field; the others still show what that leaves behind.
    """
    del made
    schema = schema_of(name)
    fields: dict[str, Any] = schema.get("properties", {})
    needed = set(schema.get("required", ()))
    values = {field: _value(field, each, schema, say) for field, each in fields.items()}
    texts = {field for field, each in values.items() if _says(each)}
    yield {field: values[field] for field in sorted(texts | needed)}
    for field in sorted(texts - needed):
        yield {each: values[each] for each in sorted(needed | {field})}


def _says(value: Any) -> bool:
    return value is not None and value not in (0, 1, False, True, [], {})


def _value(field: str, schema: Mapping[str, Any], root: Mapping[str, Any], say: Say) -> Any:
    schema = _resolved(schema, root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    kind = schema.get("type")
    if kind == "string":
        free = schema.get("format") != "date-time" and not _of_digits(schema)
        return say(field) if free else None
    if kind == "array":
        item = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        one = _value(field, item, root, say)
        return [] if one is None else [one]
    if kind == "object":
        fields = schema.get("properties", {})
        made = {each: _value(each, its, root, say) for each, its in fields.items()}
        return {each: value for each, value in made.items() if _says(value)} or None
    return None


def _of_digits(schema: Mapping[str, Any]) -> bool:
    return bool(re.match(r"\^\[0-9a-f\]|\^\(\?:\[0-9a-f\]", schema.get("pattern", "")))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        return _resolved(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    for among in ("anyOf", "oneOf", "allOf"):
        if among in schema:
            kinds = [_resolved(each, root) for each in schema[among]]
            texts = [each for each in kinds if each.get("type") == "string" or "enum" in each]
            return (texts or [each for each in kinds if each.get("type") != "null"] or kinds)[0]
    return schema


# What a schema cannot know.


def _files(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, made
    path = f"/memories/{say('path')}"
    yield {"command": "create", "path": path, "file_text": f"first\n{say('file_text')}\n"}
    yield {"command": "create", "path": "/memories/plain", "file_text": "first\nsecond\n"}
    yield {"command": "insert", "path": path, "insert_line": 1, "insert_text": say("insert_text")}
    yield {"command": "insert", "path": "/memories/plain", "insert_line": 1,
           "insert_text": say("insert_text")}  # fmt: skip
    yield {"command": "str_replace", "path": "/memories/plain", "old_str": "second",
           "new_str": say("new_str")}  # fmt: skip
    yield {"command": "str_replace", "path": "/memories/plain", "old_str": say("old_str"),
           "new_str": "x"}  # fmt: skip
    yield {"command": "rename", "old_path": "/memories/plain", "new_path": f"{path}-moved"}
    yield {"command": "view", "path": say("path")}
    yield {"command": "view", "path": path}
    yield {"command": "delete", "path": say("path")}


def _tools(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name
    for tool, arguments in (
        ("search_memory", {"query": say("query"), "categories": [say("categories")]}),
        ("search_memory", {"query": say("query")}),
        ("recall_memory", {"memory_id": say("memory_id")}),
        ("core_memory_read", {}),
        ("core_memory_write", {"content": say("content"), "category": "semantic"}),
        ("core_memory_append", {"content": say("content")}),
        ("core_memory_replace", {"old": "x", "new": say("content"), "memory_id": made["memory"]}),
        ("archival_memory_write", {"content": say("content"), "category": "semantic"}),
        ("archival_memory_insert", {"content": say("content")}),
        ("archival_memory_search", {"query": say("query"), "category": say("category")}),
        ("recall_memory_read", {"memory_id": say("memory_id")}),
        ("recall_memory_write", {"content": say("content")}),
        (say("name"), {"query": say("query")}),
    ):
        yield {"name": tool, "arguments": arguments}


def _nap(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, made
    messages = [
        {"role": "user", "content": f"My decision: I always want {say('content')} in the tests."},
        {"role": "assistant", "content": [{"type": "text", "text": f"Noted {say('text')}."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": say("id"),
                                           "name": say("tool"), "input": {"a": say("input")}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": say("id"),
                                      "content": f"Result: {say('result')}"}]},
        {"role": say("role"), "content": say("content"), say("key"): say("other")},
        *({"role": "user", "content": f"We decided number {n} {say('content')}."}
          for n in range(8)),
    ]  # fmt: skip
    yield {"messages": messages, "session_id": say("session_id"), "max_tokens": 2000}
    yield {"messages": messages, "session_id": "a-session", "project_id": say("project_id")}
    yield {"messages": messages[:2], "system_prompt": say("system_prompt")}


def _imports(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, made
    for field in ("content", "id", "namespace", "speaker", "caption", "session_id", "project_id",
                  "source", "tags", "agent_id", "client"):  # fmt: skip
        item: dict[str, Any] = {
            "id": f"imported-{field}",
            "agent_id": "importer",
            "category": "semantic",
            "namespace": "default",
            "content": "a text",
            "created_at": "2026-01-02T03:04:05Z",
            "metadata": {},
        }
        if field in ("source", "tags"):
            item["metadata"] = {field: [say(field)] if field == "tags" else say(field)}
        else:
            item[field] = say(field)
        yield {"items": [item]}


def _proposals(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    fact = {"category": "convention", "content": f"We use {say('content')}.", "tags": [say("tags")]}
    yield {**fact, "fact_id": made["fact"]} if made.get("fact") else fact
    yield {**fact, "tags": ["plain"]}
    yield {**fact, "content": "plain"}
    yield {**fact, "idempotency_key": say("idempotency_key")}
    if name == "org.propose":
        yield {**fact, "agent_id": say("agent_id")}


def _triples(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, made
    plain = {"subject": "Ann", "relation": "uses", "object": "SQLite"}
    for field in (*plain, "agent_id", "idempotency_key"):
        yield {**plain, field: say(field)}


def _clients(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    yield from _by_schema(name, say, made)
    yield {"name": "a-client", "agent_id": say("agent_id")}


def _reports(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    yield from _by_schema(name, say, made)
    for field in ("session_id", "source", "model", "transcript_path", "cwd"):
        text = f"/{say(field)}" if field == "cwd" else say(field)
        yield {"source": "codex", "session_id": "s", "used_percent": 5, field: text}


def _updates(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name
    yield {"id": made["memory"], "content": say("content")}
    yield {"id": made["memory"], "metadata": {"source": say("source"), "tags": [say("tags")]}}
    yield {"id": say("id"), "content": say("content")}


def _nothing(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, say, made
    yield {}


def _copies(name: str, say: Say, made: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    del name, say
    if made.get("folder"):
        yield {"target": str(Path(made["folder"]) / "copy.db")}


_Made = Callable[[str, Say, Mapping[str, str]], Iterator[dict[str, Any]]]

_CALLS: dict[str, _Made] = {
    "client.add": _clients,
    "graph.add": _triples,
    "inject.call": _tools,
    "inject.file": _files,
    "memory.update": _updates,
    "org.propose": _proposals,
    "org.write": _proposals,
    "sleep.consolidate": _nap,
    "skill.export": _nothing,
    "sleep.run": _nothing,
    "store.backup": _nothing,
    "store.note_copy": _copies,
    "store.import": _imports,
    "store.rebuild": _nothing,
    "usage.report": _reports,
    "wiki.export": _nothing,
}
