"""Declare tools, parse the arguments of their calls, and render the answers.

A language model gets a sentence that says what to correct, never an exception. Harmless mistakes
are tolerated (a limit of 3.7, or of 500). Mistakes that would widen a search are refused (SPEC
12.3). An answer has one fenced line per memory (SPEC 12.4, 12.8, 13.10).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from memd.base import log
from memd.base.errors import MemdError
from memd.base.limits import NAME_CHARS_MAX
from memd.domain.backend import MemoryBackend
from memd.domain.enums import MemoryCategory
from memd.domain.inject import ToolAnswer, ToolDefinition
from memd.domain.memory import MemoryEntry
from memd.inject.format import fence, mark_of_entry
from memd.inject.isolation import system_error
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, one_line

ERROR = "Error:"
"""The beginning of an answer that reports an error."""
SHOWN_CHARS_MAX = 64
"""Characters of an argument that an error quotes."""
SHOWN_ITEMS_MAX = 10
"""Unknown categories that an answer names."""


class BadArgumentError(ValueError):
    """An argument is unusable; the message tells the model why."""


class Categories(NamedTuple):
    """The categories to search (None for all), and the unknown ones in the argument."""

    known: frozenset[MemoryCategory] | None
    unknown: tuple[str, ...] = ()


def define_tool(
    name: str, description: str, required: tuple[str, ...] = (), **properties: Any
) -> ToolDefinition:
    """Return the definition of a tool that takes an object of *properties*."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return ToolDefinition(name=name, description=description, parameters_schema=schema)


def text_schema(description: str, **keywords: Any) -> dict[str, Any]:
    """Return the schema of a text argument, with further JSON Schema *keywords*."""
    return {"type": "string", "description": description, **keywords}


def limit_schema(description: str, default: int, maximum: int) -> dict[str, Any]:
    """Return the schema of the argument that :func:`limit_of` reads."""
    return {
        "type": "integer",
        "description": description,
        "default": default,
        "minimum": 1,
        "maximum": maximum,
    }


def text_of(arguments: Mapping[str, Any], name: str, chars_max: int | None = None) -> str:
    """Return the required text argument *name*; raises BadArgumentError."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadArgumentError(f"{name} must be a text that is not blank")
    if chars_max is not None and len(value) > chars_max:
        raise BadArgumentError(f"{name} has more than {chars_max} characters")
    if "\x00" in value or not _encodable(value):
        raise BadArgumentError(f"{name} holds a character that no text can have")
    return value


def id_of(arguments: Mapping[str, Any]) -> str:
    """Return the argument ``memory_id``; raises BadArgumentError."""
    return text_of(arguments, "memory_id", NAME_CHARS_MAX)


async def entry_of(
    backend: MemoryBackend, agent_id: str, arguments: Mapping[str, Any]
) -> MemoryEntry:
    """Return the agent's memory with the id in ``memory_id``; raises BadArgumentError."""
    memory_id = id_of(arguments)
    entry = await backend.get(agent_id, memory_id)
    if entry is None:
        raise BadArgumentError(f"no memory has the id {short_value(memory_id)}")
    return entry


def limit_of(arguments: Mapping[str, Any], default: int, maximum: int) -> int:
    """Return the limit, from 1 to *maximum*; *default* if the argument is no number."""
    value = arguments.get("limit")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        value = default
    return max(1, min(int(value), maximum))


def categories_of(arguments: Mapping[str, Any]) -> Categories:
    """Return the categories to search; None and an empty list mean all.

    Unknown ones among valid ones are returned separately. Raises BadArgumentError if the argument
    is no list or has no valid category: without a filter, the search would be too wide.
    """
    values = arguments.get("categories")
    if values is None:
        return Categories(None)
    if not isinstance(values, list | tuple):
        raise BadArgumentError(
            f"categories must be a list of {_category_names()}, not {short_value(values)}"
        )
    known = frozenset(item for value in values if (item := category(value)) is not None)
    unknown = [short_value(value) for value in values if category(value) is None]
    unknown = unknown[:SHOWN_ITEMS_MAX]
    if values and not known:
        raise BadArgumentError(
            f"no such categories: {', '.join(unknown)}; there are {_category_names()}"
        )
    return Categories(known or None, tuple(unknown))


def category_of(
    arguments: Mapping[str, Any], allowed: Collection[MemoryCategory]
) -> MemoryCategory:
    """Return the argument ``category``; raises BadArgumentError unless it is *allowed*."""
    value = category(arguments.get("category"))
    if value is None or value not in allowed:
        raise BadArgumentError(f"category must be one of {', '.join(sorted(allowed))}")
    return value


def category(value: Any) -> MemoryCategory | None:
    """Return *value* as a category, None for an unknown one."""
    try:
        return MemoryCategory(value) if isinstance(value, str) else None
    except ValueError:
        return None


def short_value(value: Any) -> str:
    """Return *value* for a message: the beginning of a text, or else only its type."""
    if isinstance(value, str):
        return one_line(value[:SHOWN_CHARS_MAX])
    return f"a {type(value).__name__}"


def refusal(what: str) -> str:
    """Return the answer that reports an error."""
    return f"{ERROR} {what}"


async def answer_or_error(work: Awaitable[str], unavailable: str, unexpected: str) -> str:
    """Return the answer that *work* gives, or the text of its error.

    The text is the message of a BadArgumentError, *unavailable* for a MemdError, and *unexpected*
    for any other error: their messages are not for a model. Raises only errors of the process
    (``isolation.SYSTEM_ERRORS``).
    """
    try:
        return await work
    except BadArgumentError as error:
        return refusal(str(error))
    except MemdError as error:
        log.warning("tool call failed", kind=error.kind)
        return unavailable
    except Exception as error:  # the model needs an answer in any case
        system = system_error(error)
        if system is not None:
            raise system from error
        log.error("tool call failed", trace=log.trace_of(error))
        return unexpected


def to_answer(name: str, text: str) -> ToolAnswer:
    """Return *text* as the answer of the tool *name*."""
    return ToolAnswer(name=name, content=text, is_error=text.startswith(ERROR))


def _category_names() -> str:
    return ", ".join(MemoryCategory)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return True


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


NO_MEMORIES = "No memories found."


def search_line(entry: MemoryEntry) -> str:
    """Return the line of a search result: category, relevance, id and text."""
    score = "" if entry.relevance_score is None else f"relevance: {entry.relevance_score:.2f}, "
    return f"{mark_of_entry(entry)}[{entry.category}] ({score}id={entry.id}) {_content(entry)}"


def list_line(entry: MemoryEntry) -> str:
    """Return the line of a listing: category, id and text (SPEC 13.10)."""
    return f"{mark_of_entry(entry)}[{entry.category}] (id={entry.id}) {_content(entry)}"


def render_entries(
    entries: Sequence[MemoryEntry], line: Callable[[MemoryEntry], str] = search_line
) -> str:
    """Return *entries* as a tool's answer, each in its own fence."""
    if not entries:
        return NO_MEMORIES
    return "\n".join(fence(line(entry)) for entry in entries)


def _content(entry: MemoryEntry) -> str:
    return body(entry.content, tags=(ENTRY_TAG,))
