"""What an export of memories as Markdown files answers (SPEC 16.16)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.values import Name, Value


class WikiExport(Value):
    """Where an agent's memories were written, and how many.

    *path* is None, and nothing was written, when the settings say so. A view that
    holds fewer memories than there are is named in *cut*.
    """

    agent_id: Name
    path: str | None = None
    raw: int = Field(default=0, ge=0)
    wiki: int = Field(default=0, ge=0)
    removed: int = Field(default=0, ge=0)
    """Files of earlier exports that stood for nothing any more."""
    cut: tuple[Name, ...] = ()
    failed: tuple[Name, ...] = ()
    """Views that could not be read: their files are those of the export before."""
