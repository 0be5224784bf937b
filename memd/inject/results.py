"""What a tool answers with: one line for each memory, in fences (SPEC 12.4, 12.8, 13.10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memd.domain.memory import MemoryEntry
from memd.inject.format import fenced, warning
from memd.view.labels import body
from memd.view.view import ENTRY_TAG

NO_MEMORIES = "No memories found."


def searched(entry: MemoryEntry) -> str:
    """Return the line of a search's result; the id is what ``recall_memory`` takes.

    Without a score that part is left out.
    """
    score = "" if entry.relevance_score is None else f"relevance: {entry.relevance_score:.2f}, "
    return f"{warning(entry)}[{entry.category}] ({score}id={entry.id}) {_content(entry)}"


def listed(entry: MemoryEntry) -> str:
    """Return the line of a listing (SPEC 13.10)."""
    return f"{warning(entry)}[{entry.category}] (id={entry.id}) {_content(entry)}"


def rendered_entries(
    entries: Sequence[MemoryEntry], line: Callable[[MemoryEntry], str] = searched
) -> str:
    """Return *entries* as a tool's answer, each in a fence of its own."""
    if not entries:
        return NO_MEMORIES
    return "\n".join(fenced(line(entry)) for entry in entries)


def _content(entry: MemoryEntry) -> str:
    return body(entry.content, tags=(ENTRY_TAG,))
