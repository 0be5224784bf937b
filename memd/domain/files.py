"""Commands and answers of the file view (the ``memory`` tool of some assistants); wiki exports.

The commands and the wording of the answers are those of the tool ``memory_20250818``, so that
assistants written for it work unchanged. ``WikiExport`` is the result of an export as Markdown
files (SPEC 16.16).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self

from pydantic import Field, StringConstraints, model_validator

from memd.base.limits import FILE_PATH_CHARS_MAX, TEXT_CHARS_MAX
from memd.domain.enums import FileCommandName
from memd.domain.values import Name, PlainText, Value

FilePath = Annotated[PlainText, StringConstraints(max_length=FILE_PATH_CHARS_MAX)]
FileText = Annotated[PlainText, StringConstraints(max_length=TEXT_CHARS_MAX)]

_FIELDS: dict[FileCommandName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    FileCommandName.VIEW: (("path",), ("view_range",)),
    FileCommandName.CREATE: (("path", "file_text"), ()),
    FileCommandName.STR_REPLACE: (("path", "old_str"), ("new_str",)),
    FileCommandName.INSERT: (("path", "insert_line", "insert_text"), ()),
    FileCommandName.DELETE: (("path",), ()),
    FileCommandName.RENAME: (("old_path", "new_path"), ()),
}
"""The required and the optional fields of each command."""


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
    def _check_fields(self) -> Self:
        required, optional = _FIELDS[self.command]
        present = {
            name
            for name in FileCommand.model_fields
            if name != "command" and getattr(self, name) is not None
        }
        missing = [name for name in required if name not in present]
        if missing:
            raise ValueError(f"{self.command} needs {' and '.join(missing)}")
        unknown = sorted(present.difference(required, optional))
        if unknown:
            raise ValueError(f"{self.command} takes no {' and no '.join(unknown)}")
        return self


class FileReply(Value):
    """The tool's answer; *is_error* as in a tool result."""

    text: str
    is_error: bool = False


class FileSize(NamedTuple):
    """A file in a listing: its full path and its size."""

    path: str
    bytes: int


class WikiExport(Value):
    """The folder and counts of an export of one agent's memories.

    *path* is None if the settings forbid the export. *cut* names the views that are
    incomplete because of their limit.
    """

    agent_id: Name
    path: str | None = None
    raw: int = Field(default=0, ge=0)
    wiki: int = Field(default=0, ge=0)
    removed: int = Field(default=0, ge=0)
    """Deleted files of earlier exports whose memories no longer exist."""
    cut: tuple[Name, ...] = ()
    failed: tuple[Name, ...] = ()
    """Views that could not be read: their files are still the previous export's."""
