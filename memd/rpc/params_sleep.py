"""The params of ``sleep.*``, as far as nights and compressions go."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.values import Name, SafePath
from memd.rpc.params import Params, Progressing, Scoped

NightStep = Literal["retention", "consolidation", "compression", "ageing", "cap"]
"""What a night does, in this order."""


class Night(Scoped, Progressing):
    """A night now: all *steps* or some, for every agent or for *agent_id* alone.

    A dry run says what the night *in_days* days from now would do if nothing else happened.
    """

    dry_run: bool = False
    in_days: int = Field(default=0, ge=0, le=36_500)
    steps: frozenset[NightStep] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _rehearsed(self) -> Self:
        if self.in_days and not self.dry_run:
            raise ValueError("only a dry run can be of a later day")
        return self


class Compress(Scoped, Progressing):
    """Compress the oldest sessions: with *force* however few there are, *sessions* of them."""

    force: bool = False
    sessions: int | None = Field(default=None, ge=1)


class Export(Scoped):
    """Whose memories to write as files, below the folder *target* if not below memd's own."""

    target: SafePath | None = None


class Undo(Progressing):
    """The run to undo."""

    run_id: Name


class Reports(Params):
    """The run *run_id*, or all, newest first, page by page.

    What the one run removed and made comes by page, too: from behind *memories_after*.
    """

    run_id: Name | None = None
    memories_after: int = Field(default=0, ge=0)
    after: Name | None = None
    limit: int = Field(default=20, ge=1, le=PAGE_ITEMS_MAX)
