"""Times as a person types them: a day or a month where no more is meant.

What holds from when on (``moment``) is everybody's: a day means its beginning, and a month
the beginning of its first day, in UTC. What a person looks for (``event``) is on the clock
of that computer, as the answers are, and in words. The socket takes a time with its zone
and nothing else, so what was typed is made one here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memd.base.errors import InvalidError

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def moment(option: str, text: str | None) -> str | None:
    """Return what was given to *option* as the daemon takes it; None when nothing was.

    Raises InvalidError for what is neither a day, a month, nor a time with its zone.

    >>> moment("--valid", "2026-02")
    '2026-02-01T00:00:00+00:00'
    """
    if text is None:
        return None
    instant = _read(text)
    if instant is None or instant.tzinfo is None:
        raise InvalidError(
            f"{option} must be a day, a month, or a time with its zone",
            field=option,
            hint="2026-03, 2026-03-31 or 2026-03-31T12:00:00Z",
        )
    return instant.isoformat()


def limits(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """Return what was given to ``--since`` and ``--until``, each as :func:`event` reads it.

    Raises InvalidError, too, where nothing lies between.
    """
    low, high = event("--since", since), event("--until", until)
    if low and high and datetime.fromisoformat(low) >= datetime.fromisoformat(high):
        raise InvalidError(
            "--since must be before --until",
            field="--since",
            hint=f"they are {low} and {high}: each means the beginning of what it names",
        )
    return low, high


def event(option: str, text: str | None) -> str | None:
    """Return the beginning of the time given to *option*; None when nothing was given.

    "last week", "gestern Abend", a day, a month, a year or a moment: of this computer's zone
    where none is named. Raises InvalidError for what is none of it.
    """
    if text is None:
        return None
    from memd.base.clock import SystemClock
    from memd.extract.periods import limit

    instant = limit(text, SystemClock().now_us()) or _clocked(text)
    if instant is None:
        raise InvalidError(
            f"{option} must be a time",
            field=option,
            hint='"last week", yesterday, "3 days ago", March, 2026-03-31, "lundi dernier"',
        )
    return instant.isoformat()


def _clocked(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None


def reads_as_time(text: str) -> bool:
    """Return whether *text* is nothing but a time, with or without a zone.

    >>> reads_as_time("2026-02"), reads_as_time("version 2026-02")
    (True, False)
    """
    return _read(text) is not None


def _read(text: str) -> datetime | None:
    day = f"{text}-01" if _MONTH.fullmatch(text) else text
    try:
        instant = datetime.fromisoformat(day)
    except ValueError:
        return None
    return instant.replace(tzinfo=UTC) if _DAY.fullmatch(day) else instant
