"""The params of ``sleep.*``, as far as nights and compressions go."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.values import Name, SafePath
from memd.rpc.params import Params, Progressing, Scoped

NightStep = Literal["retention", "consolidation", "compression", "ageing", "cap"]
"""What a night does, in this order."""


class Night(Scoped, Progressing):
    """A night now: all *steps* or some, for every agent or for *agent_id* alone."""

    dry_run: bool = False
    steps: frozenset[NightStep] | None = Field(default=None, min_length=1)


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
