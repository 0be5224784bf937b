"""The MCP tools: which methods of memd they call, and the wording of their answers.

Memories are fenced both in the text and in the structured answer, because clients differ in
which of the two they show to the model.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from memd.base.errors import InternalError, MemdError, MemoryNotFoundError
from memd.domain.enums import MemoryCategory, Origin, Trust
from memd.domain.memory import MemoryEntry
from memd.domain.recall import MemoryChunk
from memd.domain.sleep.consolidation import WISH_TAG
from memd.domain.trust import mark, mark_of_shared
from memd.ingest.arrivals import QUARANTINE_REASON
from memd.inject.format import fence
from memd.inject.tools.arguments import NO_MEMORIES, BadArgumentError, category_of, refusal
from memd.serve.mcp import arguments as read
from memd.text.preference import is_preference_of_user
from memd.view.labels import body
from memd.view.view import ENTRY_TAG

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls one of memd's methods as the connected client; raises MemdError."""

LIST_DEFAULT, LIST_MAX, SEARCH_MAX = 20, 100, 50
SHOWN_CHARS_MAX = 600
"""Characters of a text that a list shows."""

_UNKNOWN = "no memory has this id; memory_search and memory_list show ids"


class Answer(NamedTuple):
    """A tool's answer, as text and as data."""

    text: str
    structured: dict[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class McpCall:
    """One tool call: *raw* arguments as the model wrote them, and *request* to call memd.

    *key_params* has the idempotency key for a write, if the client identifies its call, else
    nothing.
    """

    tool: str
    raw: Any
    request: Ask
    key_params: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        return read.parse_arguments(self.tool, self.raw)


async def _search(call: McpCall) -> Answer:
    """Answer a search as text only: a client that gets data as well shows the model both."""
    return _memories_answer(await _recall(call))._replace(structured=None)


async def _recall(call: McpCall) -> list[dict[str, Any]]:
    arguments = call.arguments()
    params: dict[str, Any] = {
        "query": read.text(arguments, "query"),
        "categories": read.categories(arguments),
        "tags": read.tags(arguments),
        "preferences": "matching",
        "show_sources": True,
    }
    # Not passed as top_k, with which recall returns improbable memories too.
    limit = read.limit(arguments, SEARCH_MAX, SEARCH_MAX)
    result = await call.request("memory.recall", params)
    return [_from_chunk(chunk) for chunk in result.memories[:limit]]


async def _add(call: McpCall) -> Answer:
    arguments = call.arguments()
    text, tags = read.text(arguments, "text"), read.tags(arguments)
    if is_preference_of_user(text):
        tags = [*tags, WISH_TAG]
    params = {
        "text": text,
        "tags": tags,
        "origin": Origin.ASSISTANT,
        "deliberate": True,  # an explicit request, not a turn of a conversation
        **call.key_params,
    }
    if "category" in arguments:
        params["category"] = category_of(arguments, frozenset(MemoryCategory))
    receipt = await call.request("memory.ingest", params)
    stored = [memory.id for memory in (*receipt.stored, *receipt.pending)]
    merged = {memory.id: memory.reason for memory in receipt.merged}  # without repeated ids
    known = [memory_id for memory_id, reason in merged.items() if reason != QUARANTINE_REASON]
    quarantined = [memory.id for memory in receipt.quarantined]
    quarantined += [memory_id for memory_id in merged if memory_id not in known]
    sentences = [f"Remembered: {', '.join(stored)}."] if stored else []
    sentences += [f"Known already: {', '.join(known)}."] if known else []
    if quarantined:
        sentences.append("Quarantined, because it reads like orders: the user can release it "
                    '("memd flagged list").')  # fmt: skip
    if receipt.redacted:
        sentences.append(f"A secret was left out ({', '.join(receipt.redacted)}).")
    data = {"stored": stored, "known": known, "set_aside": quarantined}
    return Answer(" ".join(sentences) or "Nothing in it was to be remembered.", data)


async def _get(call: McpCall) -> Answer:
    return _one(await _memory(call, call.arguments()))


async def _list(call: McpCall) -> Answer:
    arguments = call.arguments()
    params: dict[str, Any] = {
        "limit": read.limit(arguments, LIST_DEFAULT, LIST_MAX),
        "categories": read.categories(arguments),
        "tags": read.tags(arguments),
        "since": read.moment(arguments, "since"),
        "until": read.moment(arguments, "until"),
    }
    if "after" in arguments:
        params["after"] = read.text(arguments, "after")
    page = await call.request("memory.list", params)
    answer = _memories_answer([_from_entry(entry, SHOWN_CHARS_MAX) for entry in page.items])
    more = f"\nThere are more: after={page.next}" if page.next else ""
    return Answer(answer.text + more, {**(answer.structured or {}), "next": page.next})


async def _update(call: McpCall) -> Answer:
    arguments = call.arguments()
    params = {
        "id": read.text(arguments, "id"),
        "content": read.text(arguments, "text"),
        "origin": Origin.ASSISTANT,
        **call.key_params,
    }
    changed = _from_entry(await call.request("memory.update", params))
    return Answer(f"Changed; the version before is kept.\n{changed['text']}", {"memory": changed})


async def _delete(call: McpCall) -> Answer:
    arguments = call.arguments()
    if read.flag(arguments, "dry_run"):
        memory = await _memory(call, arguments)
        if memory["shared"]:
            raise BadArgumentError("another agent shared this memory; only that one can retract it")
        text = f"This one would be deleted; nothing was changed.\n{memory['text']}"
        return Answer(text, {"deleted": False, "memory": memory})
    params = {"id": read.text(arguments, "id"), **call.key_params}
    if not await call.request("memory.delete", params):
        raise BadArgumentError(_UNKNOWN)
    return Answer("Deleted; the user can bring it back from the trash.", {"deleted": True})


async def _status(call: McpCall) -> Answer:
    call.arguments()
    status = await call.request("system.status", {})
    caller = (await call.request("system.hello", {}))["caller"]
    count = await call.request("memory.count", {})
    data = {
        "status": status["status"],
        "why": list(status["why"]),
        "memories": count,
        "client": caller["client"],
        "agent": caller["agent_id"],
    }
    why = f" ({'; '.join(data['why'])})" if data["why"] else ""
    memories = f"{count:,} {'memory' if count == 1 else 'memories'}"
    return Answer(
        f"memd {status['version']} is {data['status']}{why}. It holds {memories} of agent "
        f"{caller['agent_id']}. You are client {caller['client']} and may "
        f"{', '.join(caller['scopes'])}.",
        data,
    )


async def _file(call: McpCall) -> Answer:
    reply = await call.request("inject.file", {**call.arguments(), **call.key_params})
    return Answer(reply.text, is_error=reply.is_error)


async def _search_memories(call: McpCall) -> Answer:
    """Search, with an answer in the form that connectors with ``search`` and ``fetch`` expect."""
    memories = await _recall(McpCall("memory_search", call.arguments(), call.request))
    results = [
        {
            "id": memory["id"],
            "title": f"{memory['category']} memory of {memory['date']}",
            "url": f"memory://item/{memory['id']}",
            "text": memory["text"],
        }
        for memory in memories
    ]
    return _as_json({"results": results})


async def _fetch(call: McpCall) -> Answer:
    entry = await _memory(call, call.arguments())
    title = f"{entry['category']} memory of {entry['date']}"
    url = f"memory://item/{entry['id']}"
    metadata = {name: entry[name] for name in ("category", "origin", "date")}
    return _as_json(
        {"id": entry["id"], "title": title, "text": entry["text"], "url": url, "metadata": metadata}
    )


def _as_json(data: dict[str, Any]) -> Answer:
    return Answer(json.dumps(data, ensure_ascii=False), data)


CALLS: Final[Mapping[str, Callable[[McpCall], Awaitable[Answer]]]] = {
    "memory_search": _search,
    "memory_add": _add,
    "memory_get": _get,
    "memory_list": _list,
    "memory_update": _update,
    "memory_delete": _delete,
    "memory_status": _status,
    "memory": _file,
    "search": _search_memories,
    "fetch": _fetch,
}


async def run(call: McpCall) -> Answer:
    """Return the answer of a tool. Errors are answers too, for the model to read.

    Raises InternalError for a bug.
    """
    try:
        return await CALLS[call.tool](call)
    except BadArgumentError as error:
        return Answer(refusal(str(error)), is_error=True)
    except InternalError:
        raise
    except MemoryNotFoundError:
        return Answer(refusal(_UNKNOWN), is_error=True)
    except MemdError as error:
        hint = f" ({error.hint})" if error.hint else ""
        later = " Try again in a moment." if error.retry else ""
        return Answer(refusal(f"{error.message}{hint}.{later}"), is_error=True)


async def _memory(call: McpCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the memory whose id is in *arguments*: one of the client's agent, or a shared one."""
    entry: MemoryEntry | None = await call.request("memory.get", {"id": read.text(arguments, "id")})
    if entry is None:
        raise BadArgumentError(_UNKNOWN)
    agent_id = (await call.request("system.hello", {}))["caller"]["agent_id"]
    return _from_entry(entry, is_shared=entry.agent_id != agent_id)


def _memories_answer(memories: Sequence[dict[str, Any]]) -> Answer:
    text = "\n".join(memory["text"] for memory in memories) or NO_MEMORIES
    return Answer(text, {"memories": list(memories)})


def _one(memory: dict[str, Any]) -> Answer:
    return Answer(memory["text"], {"memory": memory})


def _from_chunk(chunk: MemoryChunk) -> dict[str, Any]:
    relevance = "" if chunk.relevance_score is None else f"relevance: {chunk.relevance_score:.2f}, "
    date = chunk.occurred_at or chunk.created_at
    label = _Label(chunk.memory_type, chunk.origin, chunk.trust, date, chunk.is_shared, relevance)
    return _render(chunk.id, chunk.content, label)


def _from_entry(
    entry: MemoryEntry, chars_max: int | None = None, *, is_shared: bool = False
) -> dict[str, Any]:
    text = entry.content
    if chars_max is not None and len(text) > chars_max:
        text = f"{text[:chars_max]}... (memory_get shows all)"
    date = entry.occurred_at or entry.created_at
    return _render(
        entry.id, text, _Label(entry.category, entry.origin, entry.trust, date, is_shared)
    )


class _Label(NamedTuple):
    """The metadata that is shown before the text of a memory."""

    category: MemoryCategory
    origin: Origin
    trust: Trust
    date: datetime
    is_shared: bool = False
    relevance: str = ""


def _render(memory_id: str, text: str, label: _Label) -> dict[str, Any]:
    origin_mark = (mark_of_shared if label.is_shared else mark)(label.origin, label.trust)
    date = label.date.date().isoformat()
    line = (
        f"{origin_mark}[{label.category}] ({label.relevance}{date}, id={memory_id}) "
        f"{body(text, tags=(ENTRY_TAG,))}"
    )
    return {
        "id": memory_id,
        "category": str(label.category),
        "origin": str(label.origin),
        "date": date,
        "shared": label.is_shared,
        "text": fence(line),
    }
