"""``memd projects``, and the project that a command is about.

That is what ``--project`` names, or the project of the working directory.

The id of a project is the path of its working tree, or a name that a program chose. A person may
also type the name of its folder, or any path in the tree.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from memd.base.errors import InvalidError
from memd.base.project import project_of
from memd.cli import options, say
from memd.cli.options import similar, without_none
from memd.cli.reach import daemon, iter_pages
from memd.cli.tables import print_items, word_column

LISTED_MAX = 5
"""So many known projects are listed where none is called what was typed."""
_PAGE = 500


@options.examples("memd projects", "memd projects --agent coder --json")
def projects(agent: options.Agent = None, json: options.Json = False) -> None:
    """List the projects of an agent's sessions and memories, by id.

    Other commands take them with --project: the id, or the name of the folder.
    """
    print_items(
        {"items": _known_projects(agent)},
        (word_column("PROJECT", whole=True, stored=True),),
        lambda project_id: (project_id,),
        nothing="no session or memory is of a project",
        json=json,
    )


def project_id_or_here(typed: str | None, agent: str | None) -> str | None:
    """Return the id of the project *typed*, by default of that of the working directory."""
    return find_project_id(typed, agent) if typed else project_of(str(Path.cwd()))


def find_project_id(typed: str | None, agent: str | None) -> str | None:
    """Return the id of the project that *typed* names among those of *agent*; None for None.

    Reports one without memories to stderr. Raises InvalidError if several have the name.
    """
    if not typed:
        return typed
    known = _known_projects(agent)
    path = os.path.normpath(Path.cwd() / typed)
    matches = match_projects(typed, path, project_of(path), known)
    if len(matches) > 1:
        raise InvalidError(
            f"several projects are called {say.line(typed)}",
            field="--project",
            hint=f"type the path of one: {', '.join(map(say.line, matches))}",
        )
    if matches:
        return matches[0]
    _report_unknown(typed, known, agent)
    return (project_of(path) or path) if _is_path(typed) and Path(path).is_dir() else typed


def _known_projects(agent: str | None) -> list[str]:
    with daemon() as client:
        params = without_none(agent_id=agent, limit=_PAGE)
        return list(iter_pages(client, "session.projects", params))


def match_projects(typed: str, path: str, tree: str | None, known: Sequence[str]) -> list[str]:
    """Return the *known* projects that *typed* may name; as a path it is *path*, in the *tree*.

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
    named = [project_id for project_id in known if _folder_name(project_id) == typed]
    return [path] if path in named else named


def _is_path(typed: str) -> bool:
    return "/" in typed or typed in {".", ".."}


def _folder_name(project_id: str) -> str:
    return project_id.rstrip("/").rpartition("/")[2]


def _report_unknown(typed: str, known: Sequence[str], agent: str | None) -> None:
    """Report to stderr that no memory is of a project, and of which projects there are some."""
    names = [say.line(_folder_name(project_id)) for project_id in known]
    say.note(f"memd: no memory is of a project {say.line(typed)}{similar(typed, names)}")
    if 0 < len(known) <= LISTED_MAX:
        say.note(f"      known projects: {', '.join(map(say.line, known))}")
    elif known:
        others = options.command_line("projects", projects, agent=agent)
        say.note(f"      {len(known):,} projects are known: {others}")
