"""Parse times on the command line into times with a zone, as the daemon requires them.

``parse_time`` is for the validity of facts: a day or a month means its beginning in UTC, because
all users of the facts share it. ``parse_event_time`` is for searches: it also understands words
such as "last week", and uses the time zone of this computer, as the output does.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memd.base.errors import InvalidError

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_time(option: str, text: str | None) -> str | None:
    """Parse the value of *option*, a day, a month or a time with a zone; None stays None.

    Raises InvalidError.

    >>> parse_time("--valid", "2026-02")
    '2026-02-01T00:00:00+00:00'
    """
    if text is None:
        return None
    instant = _parse_iso(text)
    if instant is None or instant.tzinfo is None:
        raise InvalidError(
            f"{option} must be a day, a month, or a time with its zone",
            field=option,
            hint="2026-03, 2026-03-31 or 2026-03-31T12:00:00Z",
        )
    return instant.isoformat()


def parse_range(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """Parse the values of ``--since`` and ``--until`` with :func:`parse_event_time`.

    Raises InvalidError also if the range is empty.
    """
    low, high = parse_event_time("--since", since), parse_event_time("--until", until)
    if low and high and datetime.fromisoformat(low) >= datetime.fromisoformat(high):
        raise InvalidError(
            "--since must be before --until",
            field="--since",
            hint=f"they are {low} and {high}: each means the beginning of what it names",
        )
    return low, high


def parse_event_time(option: str, text: str | None) -> str | None:
    """Parse the value of *option* and return the beginning of that time; None stays None.

    Understands "last week", "gestern Abend", a day, a month, a year or a time, in this computer's
    zone if none is given. Raises InvalidError.
    """
    if text is None:
        return None
    from memd.base.clock import SystemClock
    from memd.extract.times import parse_limit

    instant = parse_limit(text, SystemClock().now_us()) or _parse_local(text)
    if instant is None:
        raise InvalidError(
            f"{option} must be a time",
            field=option,
            hint='"last week", yesterday, "3 days ago", March, 2026-03-31, "lundi dernier"',
        )
    return instant.isoformat()


def _parse_local(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None


def is_time(text: str) -> bool:
    """Return whether the whole *text* is a time, with or without a zone.

    >>> is_time("2026-02"), is_time("version 2026-02")
    (True, False)
    """
    return _parse_iso(text) is not None


def _parse_iso(text: str) -> datetime | None:
    day = f"{text}-01" if _MONTH.fullmatch(text) else text
    try:
        instant = datetime.fromisoformat(day)
    except ValueError:
        return None
    return instant.replace(tzinfo=UTC) if _DAY.fullmatch(day) else instant
