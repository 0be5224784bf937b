"""Results of checks, growth history, dumps and loads of the file."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from memd.domain.values import Count, Name, PlainText, Time, Value


class CheckReport(Value):
    """The result of checking the whole file.

    *problems* are sentences that name a row or a cache, never its text. *unchecked* says what
    could not be checked, and why. *figures* are the numbers of checked items by name.
    """

    ok: bool
    problems: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    figures: dict[str, int] = Field(default_factory=dict)


class SelfCheck(Value):
    """The progress of the background check, in pages of the file.

    *finished_at* is the end of the last complete pass, None before the first. *found* is the
    number of damages, whether this check or a read detected them.
    """

    pages: Count
    pages_checked: Count
    finished_at: Time | None = None
    found: Count


class DayFigures(Value):
    """A day in UTC: memories *added*, whatever their state now, and the *total* at its end."""

    day: date
    added: Count
    total: Count


class WorkDone(Value):
    """A recorded nap or night."""

    work: Name
    at: Time
    seconds: Annotated[float, Field(ge=0.0)]
    is_success: bool


class GrowthHistory(Value):
    """The growth of the store, and memd's work, oldest first."""

    days: tuple[DayFigures, ...]
    works: tuple[WorkDone, ...] = ()


class DumpPage(Value):
    """One page of records; *next* is the ``after`` of the following one, None at the end."""

    items: tuple[dict[str, Any], ...]
    next: PlainText | None = None
    damaged: tuple[str, ...] = ()
    """What is damaged and not among *items*, such as "memory ID"."""


class Problem(Value):
    """Why the record at *index* of a call was not stored."""

    index: Count
    message: str
    hint: str | None = None


class LoadResult(Value):
    """Counts of records: stored, already known, and skipped because they were forgotten here."""

    stored: Count
    known: Count
    skipped: Count
    problems: tuple[Problem, ...] = ()
