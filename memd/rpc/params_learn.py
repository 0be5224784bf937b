"""The params of ``learn.*`` and of ``memory.synthesize``."""

from __future__ import annotations

from memd.model.learn import PlaybookEntry, PlaybookQuery, SuccessReport, TaskReport
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


class Patterns(Value):
    """Patterns, what worked most often or lies nearest first; there is one page."""

    items: tuple[PlaybookEntry, ...]
    next: Name | None = None
