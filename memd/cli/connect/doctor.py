"""``memd doctor``: find and fix problems of assistants' connections, and report those of memd."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from memd.base.client_key import private_text
from memd.base.errors import MemdError, NotRunningError
from memd.base.paths import DEFAULT_PROFILE, Paths, list_profiles
from memd.cli import console, options
from memd.cli.connect.connect import locations, make_key, print_diff
from memd.cli.connection import call, operator_key, start_hint

if TYPE_CHECKING:
    from memd.assist.connect.clients import Locations
    from memd.assist.connect.connect import FileChange
    from memd.assist.connect.doctor import Finding

MEMD = "memd"
"""What a problem of memd itself is listed under, in place of an assistant."""


@options.examples("memd doctor", "memd doctor --fix", "memd doctor --json")
def doctor(
    fix: Annotated[bool, "--fix", "Fix what memd can fix; asks first."] = False,
    yes: options.Yes = False,
) -> None:
    """Find and fix broken connections of assistants.

    Also checks the assistants' settings in the current folder, memd's own settings, and whether the
    daemon runs and works. Exit code 4: problems found.
    """
    place = locations()
    problems = _findings(place)
    if fix and any(problem.is_fixable for problem in problems):
        plans = _plans(problems, place)
        if not console.is_json():
            for changes in plans.values():
                _print_changes(changes)
        names = [f"the connection of {name}" for name in plans]
        if any(problem.assistant == MEMD and problem.is_fixable for problem in problems):
            names.append("the permissions of the owner's key")
        console.confirm(f"Fix {', '.join(names)}?", yes=yes)
        _fix(problems, plans, place)
        problems = _findings(place)
    if not console.print_if_json({"findings": [problem._asdict() for problem in problems]}):
        _print(problems)
    if problems:
        raise console.CommandExit(console.Exit.DEGRADED)


def _print_changes(changes: list[FileChange]) -> None:
    """Print the changes of files; of a file that is missing only its name and length."""
    for change in changes:
        if change.before is None:
            console.out(f"writes {change.file}: {len((change.after or '').splitlines())} lines")
    print_diff([change for change in changes if change.before is not None])


def _print(problems: list[Finding]) -> None:
    from memd.cli.memory.answers import report_stored_languages
    from memd.cli.project import gone_projects, known_projects, report_gone

    for remedy, group in groupby(problems, lambda problem: problem.help):
        for problem in group:
            console.out(f"{problem.assistant}: {problem.what}")
        console.note(f"      {remedy}")
    if not problems:
        console.note("no problems found")
    with suppress(MemdError):  # no daemon runs, which is a problem of its own
        report_gone(gone_projects(known_projects(None)))
    report_stored_languages()


def _findings(place: Locations) -> list[Finding]:
    """Return the problems of all assistants and of memd itself."""
    from memd.assist.connect import connect
    from memd.assist.connect.clients import ASSISTANTS
    from memd.assist.connect.doctor import Finding, findings

    here = Path.cwd()
    problems = [*_settings_findings(), *_key_findings()]
    problems += [
        finding
        for name, assistant in ASSISTANTS.items()
        for finding in findings(name, assistant, place, here)
    ]
    names = [
        name for name, assistant in ASSISTANTS.items() if connect.is_connected_to(assistant, place)
    ]
    try:
        clients = call("client.list")["items"]
        reasons = call("system.status")["why"]
    except NotRunningError as error:
        return [*problems, _missing_finding(error)]
    except MemdError as error:
        if not any(problem.kind == "key" for problem in problems):  # else that is why
            problems.append(Finding(MEMD, "degraded", error.message, error.hint or "memd status"))
        return problems
    problems += [Finding(MEMD, "degraded", reason, "memd status") for reason in reasons]
    with_key = {client["name"] for client in clients if not client["revoked_at"]}
    for name in names:
        if name not in with_key or not _key_file(name).is_file():
            what = f"its key is missing or revoked: {_key_file(name)}"
            problems.append(Finding(name, "key", what, "memd doctor --fix", is_fixable=True))
    return problems


def _settings_findings() -> list[Finding]:
    """Return the problem for which the daemon would refuse the settings at its next start."""
    from memd.assist.connect.doctor import Finding
    from memd.cli.upkeep.config import settings_of

    try:
        settings_of(Paths.resolve())
    except MemdError as error:
        return [Finding(MEMD, "settings", error.message, error.hint or "fix the file")]
    return []


def _key_findings() -> list[Finding]:
    """Return the problem for which the owner's commands would refuse their own key."""
    from memd.assist.connect.doctor import Finding

    key = operator_key()
    if key is None:
        return []
    try:
        private_text(key)
    except MemdError as error:
        is_own = not key.is_symlink() and key.is_file() and key.stat().st_uid == os.getuid()
        return [Finding(MEMD, "key", error.message, error.hint or "memd serve", is_fixable=is_own)]
    return []


def _missing_finding(error: NotRunningError) -> Finding:
    """Return the problem that no daemon runs, or that there is no such profile."""
    from memd.assist.connect.doctor import Finding

    places = Paths.resolve()
    if places.profile in {DEFAULT_PROFILE, *list_profiles(places)}:
        return Finding(MEMD, "missing", error.message, start_hint())
    what = f"there is no profile {places.profile}"
    hint = f"see: memd profile list; to make it: memd profile create {places.profile}"
    return Finding(MEMD, "missing", what, hint)


def _plans(problems: list[Finding], place: Locations) -> dict[str, list[FileChange]]:
    """Return the changes by fixable assistant, [] for one whose settings cannot be read."""
    from memd.assist.connect import connect
    from memd.assist.connect.clients import ASSISTANTS

    names = dict.fromkeys(
        problem.assistant
        for problem in problems
        if problem.is_fixable and problem.assistant != MEMD
    )
    unreadable = {problem.assistant for problem in problems if problem.kind == "unreadable"}
    return {
        name: [] if name in unreadable else connect.plan_connect(ASSISTANTS[name], place)
        for name in names
    }


def _fix(problems: list[Finding], plans: dict[str, list[FileChange]], place: Locations) -> None:
    from memd.assist.connect import connect

    for problem in problems:
        if problem.assistant == MEMD and problem.is_fixable:
            Paths.resolve().operator_key.chmod(0o600)
        elif problem.kind == "key":
            _key_file(problem.assistant).unlink(missing_ok=True)
            make_key(problem.assistant)
    for changes in plans.values():
        connect.write(changes, place)


def _key_file(name: str) -> Path:
    return Paths.resolve().keys_dir / f"{name}.key"
