"""``memd skill``: lessons of failures as skills."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from memd.cli import options, say
from memd.cli.reach import call
from memd.cli.tables import id_column, table, text_column, time_column, word_column


@options.examples("memd skill list", "memd skill list --agent coder --json")
def list_(
    agent: options.Agent = None, profile: options.Profile = None, json: options.Json = False
) -> None:
    """List the skills made from lessons of failures, newest first."""
    answer = call(profile, "skill.list", options.without_none(agent_id=agent))
    if json:
        say.print_json(answer)
        return
    rows = (
        (one["id"], one["created_at"], f"{one['confidence']:.2f}", one["discovery"])
        for one in answer["items"]
    )
    table((id_column(), time_column("WHEN"), word_column("CONFIDENCE"), text_column("SKILL")), rows)
    if not answer["items"]:
        say.note('no skills; to add one: memd learn failure "..." --error "..."')


@options.examples("memd skill show 7b32f9d1", "memd skill show 7b32f9d1 --json")
def show(
    skill: Annotated[str, options.Argument(metavar="ID", help="Id, as printed by list.")],
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Print a skill with all its tiers, as its SKILL.md."""
    skill_view = call(profile, "skill.show", options.without_none(id=skill, agent_id=agent))
    if json:
        say.print_json(skill_view)
    else:
        for line in skill_view["skill_md"].splitlines():
            say.out(line)


@options.examples("memd skill export ~/.claude/skills", "memd skill export --agent coder")
def export(
    folder: Annotated[
        str | None,
        options.Argument(
            metavar="[FOLDER]",
            help="Target folder; default: the setting memory.procedural.skill_md_directory.",
        ),
    ] = None,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Write skills as FOLDER/NAME/SKILL.md. Files that memd did not write are kept."""
    target = None if folder is None else str(Path(folder).expanduser().absolute())
    done = call(profile, "skill.export", options.without_none(target=target, agent_id=agent))
    if json:
        say.print_json(done)
    else:
        say.out(done["path"])
        say.note(f"{done['written']} written, {done['removed']} removed")
    for name in done["failed"]:
        say.note(f"memd: not written, another file has its place: {name}")
    if done["failed"]:
        raise say.CommandExit(say.Exit.ERROR)
