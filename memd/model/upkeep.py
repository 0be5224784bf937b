"""What the upkeep of the file answers."""

from __future__ import annotations

from pydantic import Field

from memd.model.values import Value


class CheckReport(Value):
    """The result of checking the whole file.

    *problems* are sentences that name a row or a cache and never its text; *figures*
    say how much was looked at.
    """

    ok: bool
    problems: tuple[str, ...] = ()
    figures: dict[str, int] = Field(default_factory=dict)
