"""A notation for periods in tests, to the hour, on a Wednesday in Berlin."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from memd.base.clock import from_us, to_us
from memd.extract.times import Period, find_periods

BERLIN = ZoneInfo("Europe/Berlin")
NOW = to_us(datetime(2026, 11, 18, 14, 30, tzinfo=BERLIN))


def read(text: str, zone: ZoneInfo = BERLIN) -> list[str]:
    """Return each time of *text* as its first and last moment, in local time, to the hour."""
    return [f"{shown(one.from_us)} {shown(one.to_us)}" for one in find_periods(text, NOW, zone)]


def shown(moment_us: int | None) -> str:
    if moment_us is None:
        return "-"
    local = from_us(moment_us).astimezone(BERLIN)
    return f"{local:%Y-%m-%d}" if local.hour == 0 else f"{local:%Y-%m-%dT%H}"


def only(text: str) -> Period:
    (one,) = find_periods(text, NOW, BERLIN)
    return one
