"""What became of a task as one episodic memory, by rule (SPEC 16.14). Pure.

Nights show the newest of them to a language model that writes summaries (SPEC 16.11.1).
"""

from __future__ import annotations

from memd.domain.learn import TaskDistillation, TerminationReason
from memd.learn.sanitise import sanitised_error
from memd.learn.tiers import one_line

MEMORY_TOOLS = ("search_memory", "recall_memory")
NO_TURNS = "no turns"


def distilled(task: TaskDistillation) -> str:
    """Return what is kept of *task*: four lines, none of them from its conversation.

    >>> print(distilled(TaskDistillation(task_id="T-1", turn_count=2, total_tokens=5300,
    ...     tool_calls_made=("Edit", "Bash", "Bash", "search_memory"))))
    Task: T-1
    Outcome: completed
    Trajectory: 2 turns, 5300 tokens, 4 calls of Bash, Edit, search_memory
    Memory tools: search_memory
    """
    asked = [name for name in task.tool_calls_made if name in MEMORY_TOOLS]
    return "\n".join(
        (
            f"Task: {one_line(task.task_id, 240)}",
            f"Outcome: {_outcome(task)}",
            f"Trajectory: {_trajectory(task)}",
            f"Memory tools: {', '.join(asked) or 'none'}",
        )
    )


def _outcome(task: TaskDistillation) -> str:
    reason = task.termination_reason
    if reason is TerminationReason.COMPLETED:
        return "completed"
    if reason is TerminationReason.ERROR:
        return f"failed: {sanitised_error(task.error_message)}"
    return f"terminated: {reason.value}"


def _trajectory(task: TaskDistillation) -> str:
    if not task.turn_count:
        return NO_TURNS
    turns = "1 turn" if task.turn_count == 1 else f"{task.turn_count} turns"
    names = sorted(set(task.tool_calls_made))
    calls = f"{len(task.tool_calls_made)} calls of {', '.join(names)}" if names else "no tools"
    return f"{turns}, {task.total_tokens} tokens, {calls}"
