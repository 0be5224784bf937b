"""The frozen base class of values; constrained strings, paths and times; names of events.

An event (``events.subscribe``) is sent after COMMIT and never contains the text of a memory.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from memd.base.limits import (
    NAME_CHARS_MAX,
    PROJECT_CHARS_MAX,
    QUERY_CHARS_MAX,
    QUERY_END_CHARS_MAX,
    TEXT_CHARS_MAX,
)

RESERVED_AGENT = "__shared__"
DEFAULT_AGENT = "default"
DEFAULT_NAMESPACE = "default"


class Value(BaseModel):
    """An immutable value: no NaN, no infinity, no unknown field (SPEC 0.4)."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        ser_json_inf_nan="null",
        defer_build=True,
    )


def alike(name: str) -> str:
    """Return *name* normalized, so that names which a reader cannot tell apart are equal.

    Ignored are case, character width, spaces and invisible characters.

    >>> alike(" __Shared__\u200b") == RESERVED_AGENT
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "CZ")


def folder_name(project_id: str) -> str:
    r"""Return the last part of a project id, which usually is the path of a working tree.

    >>> folder_name("/home/ada/hives/"), folder_name("C:\\shop"), folder_name("billing")
    ('hives', 'shop', 'billing')
    """
    return project_id.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def names_project(text: str, project_id: str) -> bool:
    """Return whether *text* has the name of the project's folder as a word.

    >>> names_project("how did we test the Bee-Hives?", "/home/ada/bee-hives")
    True
    """
    name = folder_name(project_id)
    return bool(name) and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE))


def matched_part(query: str) -> str:
    r"""Return the part of *query* that is matched; of a long one the beginning and the end.

    Both are cut between paragraphs if possible, else between lines or words. The result has at
    most QUERY_CHARS_MAX characters.

    >>> matched_part("x\n" * 9_000 + "\nWhy does this fail?")[-21:]
    '\n\nWhy does this fail?'
    """
    if len(query) <= QUERY_CHARS_MAX or len(query := query.strip()) <= QUERY_CHARS_MAX:
        return query
    end = query[-QUERY_END_CHARS_MAX:]
    end = next((part for gap in ("\n\n", "\n", " ") if (part := end.partition(gap)[2])), end)
    head = query[: QUERY_CHARS_MAX - QUERY_END_CHARS_MAX - 2]
    beginning = head.rpartition("\n\n")[0] or head.rpartition("\n")[0] or head
    return f"{beginning}\n\n{end}"


def _storable(text: str, *, may_be_blank: bool = True) -> str:
    """Return *text*. Raise ValueError for NUL and lone surrogates, which cannot be stored."""
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain a lone surrogate") from None
    if not may_be_blank and not text.strip():
        raise ValueError("must not be blank")
    return text


def _no_traversal(path: str) -> str:
    """Return *path*. Raise ValueError if it contains ``..`` by POSIX or Windows rules."""
    if ".." in PurePosixPath(path).parts or ".." in PureWindowsPath(path).parts:
        raise ValueError("must not contain '..'")
    return path


def _plain_posix(path: str) -> str:
    """Return *path*. Raise ValueError if it has a Windows drive or separator, or ``..``."""
    if "\\" in path or PureWindowsPath(path).drive:
        raise ValueError("must be a POSIX path, without backslash or drive letter")
    return _no_traversal(path)


def _in_calendar(moment: datetime) -> datetime:
    """Return *moment*. Raise ValueError if its year in UTC would be 0 or 10000."""
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None
    return moment


NotBlankStr = Annotated[str, AfterValidator(partial(_storable, may_be_blank=False))]
"""A string with at least one character that is not white space."""

PlainText = Annotated[str, AfterValidator(_storable)]
"""A string, blank or not, that can be stored."""

ProjectId = Annotated[NotBlankStr, StringConstraints(max_length=PROJECT_CHARS_MAX)]
"""The id of a project, usually the path of its working tree.

Ids are compared as they are. A client that has the path of a folder gets the project's id with
``project_of`` in ``base/project.py``. The daemon does not do so: an id must name the same
project for ever, even when the folder no longer exists or is in another tree.
"""
Name = Annotated[NotBlankStr, StringConstraints(max_length=NAME_CHARS_MAX)]
"""An id, a namespace, a tag, a speaker: not blank, at most 256 characters."""

Text = Annotated[NotBlankStr, StringConstraints(max_length=TEXT_CHARS_MAX)]
"""The text of a memory."""

Query = Annotated[Text, AfterValidator(matched_part)]
"""A question or words to search for, cut by ``matched_part``."""

Count = Annotated[int, Field(ge=0)]
"""A number of things, from 0."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]
"""A number from 0 to 1."""

Time = Annotated[AwareDatetime, AfterValidator(_in_calendar)]
"""A point in time with its zone, in the years 1 to 9999 of UTC; naive times are invalid."""

SafePath = Annotated[NotBlankStr, AfterValidator(_no_traversal)]
"""The path of a file or folder, without ``..``."""

PosixPath = Annotated[NotBlankStr, AfterValidator(_plain_posix)]
"""A safe path without a drive or a backslash."""


class EventName(StrEnum):
    """The events that a client can subscribe to."""

    STORED = "event.stored"
    CONSOLIDATED = "event.consolidated"
    FLAGGED = "event.flagged"
    TURNED_AWAY = "event.turned_away"
    USAGE = "event.usage"
    DAMAGED = "event.damaged"
    TUNED = "event.tuned"
    MODEL = "event.model"


EVERYBODY = "*"
"""In place of an agent's id: the event goes to the subscribers of all agents."""


class Emit(Protocol):
    """Callback that sends an event; returns at once and never raises."""

    def __call__(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None: ...


def unheard(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
    """Discard an event."""
