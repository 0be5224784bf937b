"""``memd learn`` and ``memd skill``: lessons, tool patterns, and skills made from lessons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from memd.base.errors import InvalidError, InvalidStateError, NotFoundError
from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.tables import id_column, print_items, text_column, time_column, word_column

TASK_CHARS = 200
"""Maximum length of a task id that is made from the task's text."""

Tools = Annotated[list[str] | None, "--tool NAME", "Tool that was used; repeat in order of use."]
Kind = Annotated[str | None, "--type NAME", "Type of task; default: derived from the tools."]


@options.examples(
    'memd learn lesson "Slow billing queries: look at EXPLAIN first"',
    'memd learn lesson "The staging database is read-only on Mondays" --agent coder',
)
def lesson(
    what: Annotated[str, "TEXT", "The lesson."],
    tool: Tools = None,
    task_type: Kind = None,
    agent: options.Agent = None,
) -> None:
    """Store a lesson for prompts that it fits. Prints its id."""
    _outcome(lesson=what, tools=tool, task_type=task_type, agent_id=agent)


@options.examples(
    'memd learn success "Deploy with rsync, then restart" --tool Bash --tool Edit',
    'memd learn success "Asking Maria before the migration saved a day"',
)
def success(
    what: Annotated[str, "TEXT", "What worked."],
    tool: Tools = None,
    task_type: Kind = None,
    agent: options.Agent = None,
) -> None:
    """Store what worked. Prints its id.

    It becomes a lesson or, with --tool, a pattern of the playbook.
    """
    if not tool:
        _outcome(lesson=what, outcome="success", task_type=task_type, agent_id=agent)
        return
    result = call(
        "learn.success", description=what, tools=tool, task_type=task_type, agent_id=agent
    )
    console.answer(result, result["pattern_id"])


@options.examples(
    'memd learn failure "Dropping the index first locks the table" --tool Bash',
    'memd learn failure "Run the billing tests" --error "connection refused" '
    '--cure "docker compose up -d redis"',
)
def failure(
    what: Annotated[str, "TEXT", "What failed; with --error, the task."],
    tool: Tools = None,
    task_type: Kind = None,
    error: Annotated[str | None, "--error TEXT", "Error message; makes the lesson a skill."] = None,
    cure: Annotated[str | None, "--cure TEXT", "What fixed it; with --error."] = None,
    task: Annotated[str | None, "--task ID", "Task id, with --error; default: the text."] = None,
    agent: options.Agent = None,
) -> None:
    """Store what failed. Prints its id.

    It becomes a lesson or, with --error, a skill.
    """
    if error is None:
        if cure is not None or task is not None:
            raise InvalidError("--cure and --task need --error")
        _outcome(lesson=what, outcome="failure", tools=tool, task_type=task_type, agent_id=agent)
        return
    result = call(
        "learn.failure",
        task_id=task or " ".join(what.split())[:TASK_CHARS],
        task_title=what,
        error_message=error,
        tool_calls_made=tool,
        mended_by=cure,
        task_type=task_type,
        agent_id=agent,
    )
    if console.is_json():
        console.print_json(result)
    elif result["id"] is not None:
        console.out(result["id"])
        console.note(result["proposal"]["discovery"])
    if result["id"] is None:
        raise InvalidStateError(f"no lesson was stored: {result['why_not']}")


@options.examples("memd learn prune --dry-run", "memd learn prune --agent coder")
def prune(
    dry_run: Annotated[bool, "--dry-run", "List what would be archived; change nothing."] = False,
    agent: options.Agent = None,
) -> None:
    """Archive lessons of failures that are old or outweighed.

    Old means more than 90 days.
    """
    answer = call("learn.prune", dry_run=dry_run, agent_id=agent)
    if console.print_if_json(answer):
        return
    for memory_id in answer["ids"]:
        console.out(memory_id)
    console.note(f"{'would archive' if dry_run else 'archived'} {len(answer['ids'])}")


@options.examples("memd learn list", "memd learn list -n 5 --agent coder --json")
def list_(limit: options.Limit = 20, agent: options.Agent = None) -> None:
    """List lessons, newest first."""
    print_items(
        call("learn.list", limit=limit, agent_id=agent),
        (
            id_column(),
            time_column("WHEN", "timestamp"),
            word_column("OUTCOME", "outcome"),
            word_column("TASK", "task_type"),
            text_column("LESSON", "lesson"),
        ),
        nothing='no lessons; to add one: memd learn lesson "..."',
        limit=limit,
    )


@options.examples("memd learn playbook", 'memd learn playbook "slow queries"')
def playbook(
    query: Annotated[
        str | None, "[QUERY]", "The task at hand; default: the patterns used most."
    ] = None,
    limit: options.Limit = 20,
    agent: options.Agent = None,
) -> None:
    """List tool patterns that worked, most successful first."""
    print_items(
        call("learn.playbook", query=query, limit=limit, agent_id=agent),
        (
            id_column(cell="pattern_id"),
            word_column("WORKED", "success_count"),
            word_column("TOOLS", lambda pattern: ", ".join(pattern["tool_sequence"])),
            text_column("PATTERN", "description"),
        ),
        nothing='the playbook is empty; to add to it: memd learn success "..." --tool NAME',
        limit=limit,
    )


@options.examples("memd learn forget 7b32f9d1", "memd learn forget 0a1b2c3d4e5f6071 --yes")
def forget(
    ids: options.MemoryIds,
    yes: options.Yes = False,
    agent: options.Agent = None,
) -> None:
    """Erase lessons and patterns permanently."""
    params = options.without_none(ids=ids, agent_id=agent)
    with daemon() as client:
        count = client.call("memory.forget", {**params, "dry_run": True})["count"]
        if count:
            what = "1 lesson or pattern" if count == 1 else f"{count} lessons or patterns"
            console.confirm(f"Erase {what} permanently?", yes=yes)
            client.call("memory.forget", params)
    console.answer({"erased": count}, f"erased {count}")
    if not count:
        raise NotFoundError(
            "no lesson or pattern has this id", hint="see: memd learn list, memd learn playbook"
        )


def _outcome(**params: Any) -> None:
    result = call("learn.outcome", **params)
    console.answer(result, result["id"])


@options.examples("memd skill list", "memd skill list --agent coder --json")
def list_skills(agent: options.Agent = None) -> None:
    """List the skills made from lessons of failures, newest first."""
    print_items(
        call("skill.list", agent_id=agent),
        (
            id_column(),
            time_column("WHEN", "created_at"),
            word_column("CONFIDENCE", lambda skill: f"{skill['confidence']:.2f}"),
            text_column("SKILL", "discovery"),
        ),
        nothing='no skills; to add one: memd learn failure "..." --error "..."',
    )


@options.examples("memd skill show 7b32f9d1", "memd skill show 7b32f9d1 --json")
def show_skill(
    skill: options.MemoryId,
    agent: options.Agent = None,
) -> None:
    """Print a skill with all its tiers, as its SKILL.md."""
    skill_view = call("skill.show", id=skill, agent_id=agent)
    if not console.print_if_json(skill_view):
        for line in skill_view["skill_md"].splitlines():
            console.out(line)


@options.examples("memd skill export ~/.claude/skills", "memd skill export --agent coder")
def export_skills(
    folder: Annotated[
        str | None,
        "[FOLDER]",
        "Target folder; default: the setting memory.procedural.skill_md_directory.",
    ] = None,
    agent: options.Agent = None,
) -> None:
    """Write skills as FOLDER/NAME/SKILL.md. Files that memd did not write are kept."""
    target = None if folder is None else str(Path(folder).expanduser().absolute())
    done = call("skill.export", target=target, agent_id=agent)
    if not console.print_if_json(done):
        console.out(done["path"])
        console.note(f"{done['written']} written, {done['removed']} removed")
    for name in done["failed"]:
        console.note(f"memd: not written, another file has its place: {name}")
    if done["failed"]:
        raise console.CommandExit(console.Exit.ERROR)
