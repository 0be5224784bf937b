"""What the upkeep of the file answers."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from memd.domain.values import Name, PlainText, Time, Value

Count = Annotated[int, Field(ge=0)]


class CheckReport(Value):
    """The result of checking the whole file.

    *problems* are sentences that name a row or a cache and never its text; *figures*
    say how much was looked at.
    """

    ok: bool
    problems: tuple[str, ...] = ()
    figures: dict[str, int] = Field(default_factory=dict)


class SelfCheck(Value):
    """How far the check is that runs by itself: a page of the file holds many rows.

    *finished_at* is the end of the last whole pass, None before the first; *found* counts
    what is damaged, by whatever it was noticed.
    """

    pages: Count
    pages_checked: Count
    finished_at: Time | None = None
    found: Count


class DayFigures(Value):
    """A day of UTC: how many memories it *added*, in whatever state now, and the *total* then."""

    day: date
    added: Count
    total: Count


class WorkDone(Value):
    """A nap or a night as memd noted it."""

    work: Name
    at: Time
    seconds: Annotated[float, Field(ge=0.0)]
    is_success: bool


class GrowthHistory(Value):
    """How the store grew, and what memd worked, the oldest first."""

    days: tuple[DayFigures, ...]
    works: tuple[WorkDone, ...] = ()


class DumpPage(Value):
    """One page of records; *next* is the ``after`` of the following one, None at the end."""

    items: tuple[dict[str, Any], ...]
    next: PlainText | None = None


class Problem(Value):
    """Why the record at *index* of a call was not taken."""

    index: Count
    message: str
    hint: str | None = None


class Loaded(Value):
    """What became of records: stored, known already, or forgotten here and so left out."""

    stored: Count
    known: Count
    skipped: Count
    problems: tuple[Problem, ...] = ()
