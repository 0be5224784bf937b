"""``memd project``, and the value of ``--project``, which defaults to the working directory's.

The id of a project is the path of its git working tree or folder, or a name that a program chose.
On the command line a project may also be given as the name of its folder, or as any path in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from memd.base.errors import InvalidError
from memd.base.project import project_of, working_tree
from memd.cli import console, options
from memd.cli.commands import similar
from memd.cli.connection import LONG_SECONDS_MAX, daemon, iter_items
from memd.cli.options import without_none
from memd.cli.tables import print_items, word_column

LISTED_MAX = 5
"""Up to this number, known projects are listed if an unknown one was typed."""
_PAGE = 500


@options.examples("memd project list", "memd project list --agent coder --json")
def list_projects(agent: options.Agent = None) -> None:
    """List the projects of an agent's sessions and memories, by id.

    Other commands take them with --project: the id, or the name of the folder. Says of each whether
    its folder exists or is gone.
    """
    known = known_projects(agent)
    gone = gone_projects(known)

    def folder(project_id: str) -> str:
        is_path = project_id.startswith("/")
        return "gone" if project_id in gone else "exists" if is_path else "none"

    columns = (
        word_column("PROJECT", str, whole=True, stored=True),
        word_column("FOLDER", folder),
    )
    nothing = "no session or memory is of a project"
    print_items({"items": known, "gone": gone}, columns, nothing=nothing)
    if not console.is_json():
        report_gone(gone, agent)


@options.examples(
    "memd project move ~/old/hives",
    "memd project move hives ~/code/hives --json",
    "memd project move --from-no-project ~/code/hives",
    "memd project move hives --to-no-project",
)
def move(
    old: Annotated[
        str | None, "[OLD]", "Project, by id or name of its folder, as in the list."
    ] = None,
    new: Annotated[
        str | None, "[NEW]", "Folder where it is now; the working directory by default."
    ] = None,
    of_none: Annotated[
        bool, "--from-no-project", "Move what belongs to no project; the argument is NEW."
    ] = False,
    to_none: Annotated[
        bool, "--to-no-project", "Move to no project; there is no argument NEW."
    ] = False,
    agent: options.Agent = None,
) -> None:
    """Move the sessions and memories of a project to another one.

    Use it after a folder was moved or renamed, because a project is identified by its path. What
    the other project already has stays. Preferences of one project ("In this repo ...") are not
    moved with --to-no-project.
    """
    old, new = (None, old) if of_none and new is None else (old, new)
    if (of_none and (old or to_none)) or (to_none and new):
        raise InvalidError(
            "--from-no-project takes the place of OLD, --to-no-project that of NEW",
            hint="memd project move --help has examples",
        )
    if not (old or of_none):
        raise InvalidError("OLD is missing", hint="memd project list shows the known projects")
    known = known_projects(agent)
    project_id = _old_id(old, known) if old else None
    new_id = None if to_none else _new_id(new, known)
    params = options.without_none(agent_id=agent)
    params |= {"project_id": project_id, "new_project_id": new_id}
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        moved = client.call("session.move_project", params)
    if console.print_if_json(moved):
        return
    memories = console.count(moved["memories"], "memory")
    sessions = console.count(moved["sessions"], "session")
    before, now = (console.line(name or "no project") for name in (project_id, new_id))
    console.out(f"{memories} and {sessions} of {before} are of {now} now")


def _old_id(typed: str, known: Sequence[str]) -> str:
    """Return the id of the *known* project that *typed* names. Raises InvalidError without one."""
    path = os.path.normpath(Path.cwd() / typed)
    project_id = _match_one(typed, match_projects(typed, path, None, known), "OLD")
    if project_id is None:
        raise InvalidError(
            f"no session or memory is of a project {console.line(typed)}", field="OLD"
        )
    return project_id


def _new_id(typed: str | None, known: Sequence[str]) -> str:
    """Return the id of the project that *typed* names: a *known* one, or one in its folder.

    Raises InvalidError if there is no such folder, or no project in it.
    """
    path = os.path.normpath(Path.cwd() / (typed or "."))
    if typed and (match := _match_one(typed, match_projects(typed, path, None, known), "NEW")):
        return match
    project_id = project_of(path) if Path(path).is_dir() else None
    if project_id is None:
        raise InvalidError(
            f"{console.line(typed or path)} is no folder below your home, nor a known project",
            field="NEW",
            hint="memd project list shows those that are known",
        )
    return project_id


def project_id_or_here(typed: str | None, agent: str | None, *, stores: bool = False) -> str | None:
    """Return the id of the project that *typed* names, by default the working directory's.

    That is the git working tree, or the nearest folder above that is a known project. None if
    there is neither.
    """
    if typed:
        return find_project_id(typed, agent, stores=stores)
    here = Path.cwd()
    return project_of_folder(here, known_projects(agent) if project_of(str(here)) else [])


def project_of_folder(folder: Path, known: Sequence[str]) -> str | None:
    """Return the git working tree of *folder*, or the nearest folder above that is *known*.

    *known* are the projects of sessions and memories. None if there is neither.
    """
    above = (str(place) for place in (folder, *folder.parents))
    return working_tree(str(folder)) or next((place for place in above if place in known), None)


def find_project_id(typed: str | None, agent: str | None, *, stores: bool = False) -> str | None:
    """Return the id of the project that *typed* names; None for None.

    An id that *agent* has no memories of is reported to stderr, since it may be mistyped; with
    *stores* as a new project. Raises InvalidError if several projects have the name.
    """
    if not typed:
        return typed
    known = known_projects(agent)
    path = os.path.normpath(Path.cwd() / typed)
    project_id = _match_one(
        typed, match_projects(typed, path, project_of(path), known), "--project"
    )
    if project_id is not None:
        return project_id
    what = "the first memory of" if stores else "no memory is of"
    _report_unknown(f"{what} a project {console.line(typed)}", typed, known, agent)
    return (project_of(path) or path) if _is_path(typed) and Path(path).is_dir() else typed


def _match_one(typed: str, matches: Sequence[str], field: str) -> str | None:
    """Return the only one of *matches*, None if there is none. Raises InvalidError for several."""
    if len(matches) > 1:
        raise InvalidError(
            f"several projects are called {console.line(typed)}",
            field=field,
            hint=f"type the path of one: {', '.join(map(console.line, matches))}",
        )
    return matches[0] if matches else None


def gone_projects(known: Sequence[str]) -> list[str]:
    """Return those of *known* whose folders do not exist."""
    return [each for each in known if each.startswith("/") and not os.path.lexists(each)]


def report_gone(gone: Sequence[str], agent: str | None = None) -> None:
    """Report to stderr how to move the memories of projects whose folders are *gone*."""
    if not gone:
        return
    old = gone[0] if len(gone) == 1 else "OLD"
    command = options.command_line("project move", move, old=old, new="NEW", agent=agent)
    others = options.command_line("project list", list_projects, agent=agent)
    what = f"the folder of {console.line(old)} is gone"
    if len(gone) > 1:
        what = f"the folders of {len(gone):,} projects are gone ({others})"
    console.note(f"{what}; if it was moved or renamed: {command}")


def report_moved(project_id: str | None, agent: str | None) -> None:
    """Report to stderr how to move the memories of a project that is probably *project_id* now.

    Nothing is known of *project_id*, but of a folder that no longer exists: one with the same name,
    or the only one that was beside it.
    """
    known = known_projects(agent) if project_id else []
    if not project_id or project_id in known:
        return
    gone = gone_projects(known)
    name, parent = folder_name(project_id), Path(project_id).parent
    moved = [old for old in gone if folder_name(old) == name]
    beside = [old for old in gone if Path(old).parent == parent]
    for old in moved or (beside if len(beside) == 1 else []):
        command = options.command_line("project move", move, old=old, new=project_id, agent=agent)
        console.note(f"memories of {console.line(old)} are not here; if it has moved: {command}")


def known_projects(agent: str | None) -> list[str]:
    """Return the ids of the projects of the agent's sessions and memories, in order."""
    with daemon() as client:
        params = without_none(agent_id=agent, limit=_PAGE)
        return list(iter_items(client, "session.projects", params))


def match_projects(typed: str, path: str, tree: str | None, known: Sequence[str]) -> list[str]:
    """Return the *known* projects that *typed* may name.

    *path* is *typed* as an absolute path, and *tree* the project that contains it, if any.

    >>> known = ["/home/ada/hives", "/srv/hives", "billing"]
    >>> match_projects("hives", "/home/ada/hives/hives", "/home/ada/hives", known)
    ['/home/ada/hives', '/srv/hives']
    >>> match_projects("hives", "/srv/hives", "/srv/hives", known)
    ['/srv/hives']
    >>> match_projects("./src", "/srv/hives/src", "/srv/hives", known)
    ['/srv/hives']
    """
    if typed in known:
        return [typed]
    if _is_path(typed):
        return [place for place in (path, tree or path) if place in known][:1]
    named = [project_id for project_id in known if folder_name(project_id) == typed]
    return [path] if path in named else named


def _is_path(typed: str) -> bool:
    return "/" in typed or typed in {".", ".."}


def folder_name(project_id: str) -> str:
    """Return the name of a project's folder, by which people call it."""
    return project_id.rstrip("/").rpartition("/")[2]


def _report_unknown(what: str, typed: str, known: Sequence[str], agent: str | None) -> None:
    """Report *what* to stderr, with similar names and the known projects."""
    names = [console.line(folder_name(project_id)) for project_id in known]
    console.note(f"memd: {what}{similar(typed, names)}")
    if 0 < len(known) <= LISTED_MAX:
        console.note(f"      known projects: {', '.join(map(console.line, known))}")
    elif known:
        others = options.command_line("project list", list_projects, agent=agent)
        console.note(f"      {len(known):,} projects are known: {others}")
