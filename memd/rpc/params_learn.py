"""The params of ``learn.*`` and of ``memory.synthesize``."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import LEARNINGS_READ_ITEMS_MAX
from memd.model.learn import Learning, PlaybookEntry, PlaybookQuery, SuccessReport, TaskReport
from memd.model.synthesis import SynthesisRequest
from memd.model.values import Name, Value
from memd.rpc.params import Scoped, Writing


class ReportOutcome(TaskReport, Writing):
    """A task that is over."""


class ReportSuccess(SuccessReport, Writing):
    """A pattern that worked."""


class ListPlaybook(PlaybookQuery, Scoped):
    """Which patterns are wanted."""


class Synthesize(SynthesisRequest, Scoped):
    """A question for one block."""


class ListLessons(Scoped):
    """How many lessons are wanted."""

    limit: int = Field(default=20, ge=1, le=LEARNINGS_READ_ITEMS_MAX)


class Lessons(Value):
    """What was learnt, newest first; there is one page."""

    items: tuple[Learning, ...]
    next: Name | None = None


class Patterns(Value):
    """Patterns, what worked most often or lies nearest first; there is one page."""

    items: tuple[PlaybookEntry, ...]
    next: Name | None = None
