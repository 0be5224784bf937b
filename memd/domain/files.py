"""The file view's commands and answers: the ``memory`` tool that some assistants bring along.

The commands and the words of the answers are that tool's (``memory_20250818``), so
that a client made for it works unchanged.

``WikiExport`` is what an export of memories as Markdown files answers (SPEC 16.16).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from memd.base.limits import FILE_PATH_CHARS_MAX, TEXT_CHARS_MAX
from memd.domain.values import Name, PlainText, Value


class FileCommandName(StrEnum):
    """What the tool can be told to do."""

    VIEW = "view"
    CREATE = "create"
    STR_REPLACE = "str_replace"
    INSERT = "insert"
    DELETE = "delete"
    RENAME = "rename"


FilePath = Annotated[PlainText, StringConstraints(max_length=FILE_PATH_CHARS_MAX)]
FileText = Annotated[PlainText, StringConstraints(max_length=TEXT_CHARS_MAX)]

# Which of the fields each command takes; in brackets what may be left out.
_TAKES: dict[FileCommandName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    FileCommandName.VIEW: (("path",), ("view_range",)),
    FileCommandName.CREATE: (("path", "file_text"), ()),
    FileCommandName.STR_REPLACE: (("path", "old_str"), ("new_str",)),
    FileCommandName.INSERT: (("path", "insert_line", "insert_text"), ()),
    FileCommandName.DELETE: (("path",), ()),
    FileCommandName.RENAME: (("old_path", "new_path"), ()),
}


class FileCommand(Value):
    """One command, with the fields that it takes and no others."""

    command: FileCommandName
    path: FilePath | None = None
    view_range: tuple[int, int] | None = None
    file_text: FileText | None = None
    old_str: Annotated[FileText, Field(min_length=1)] | None = None
    new_str: FileText | None = None
    insert_line: int | None = None
    insert_text: FileText | None = None
    old_path: FilePath | None = None
    new_path: FilePath | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed, also = _TAKES[self.command]
        given = {
            name
            for name in FileCommand.model_fields
            if name != "command" and getattr(self, name) is not None
        }
        missing = [name for name in needed if name not in given]
        if missing:
            raise ValueError(f"{self.command} needs {' and '.join(missing)}")
        useless = sorted(given.difference(needed, also))
        if useless:
            raise ValueError(f"{self.command} takes no {' and no '.join(useless)}")
        return self


class FileReply(Value):
    """What the tool answers, word for word; *is_error* as a tool's result says it."""

    text: str
    is_error: bool = False


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
