"""What was learnt from work done: lessons, and patterns of tools that worked (SPEC 5a)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from memd.base.limits import TASK_TOOLS_MAX
from memd.domain.enums import LearningOutcome
from memd.domain.values import Name, NotBlankStr, Text, Time, Value

Tools = Annotated[tuple[Name, ...], Field(max_length=TASK_TOOLS_MAX)]
"""The names of the tools that a task used, in the order of their use."""


class TaskReport(Value):
    """A task that is over: the *tools* that it used and the last thing that was said.

    Without a *task_type* the tools tell it, without a *lesson* what became of the task. Who
    knows the *outcome* says it; otherwise the *final_response* tells. One of that and a
    *lesson* must be there.
    """

    final_response: Text | None = None
    tools: Tools = ()
    task_type: Name | None = None
    lesson: Text | None = None
    outcome: LearningOutcome | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.final_response is None and self.lesson is None:
            raise ValueError("say the final_response or the lesson")
        return self


class Learning(Value):
    """What became of one task, and what to take from it."""

    id: Name
    task_type: Name
    approach: tuple[Name, ...]
    outcome: LearningOutcome
    lesson: NotBlankStr
    timestamp: Time


class SuccessReport(Value):
    """A pattern of *tools* that worked, and how to ask for it again."""

    description: Text
    tools: Tools = Field(min_length=1)
    task_type: Name | None = None
    prompt_template: str = Field(default="", max_length=4096)


class PlaybookEntry(Value):
    """A pattern that worked, and how often. The *pattern_id* does not know the tools' order.

    What a nap saw cured has a *memory_id*, and no tools: the memory tells it, ``why`` shows
    the turns that it is made of, and it goes with them. A tool printed words of it.
    """

    pattern_id: Name
    task_type: Name
    description: NotBlankStr
    tool_sequence: tuple[Name, ...]
    prompt_template: str = ""
    success_count: int = Field(default=1, ge=1)
    created_at: Time
    updated_at: Time
    promoted: bool = False
    memory_id: Name | None = None


class PlaybookQuery(Value):
    """Which patterns are wanted: of a type, near a *query*, or those ready to become a skill."""

    task_type: Name | None = None
    query: Text | None = None
    promotable: bool = False
    limit: int = Field(default=3, ge=1, le=100)
