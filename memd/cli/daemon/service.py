"""``memd service``: install and uninstall the daemon as a service of the user's login.

Installing is idempotent. Uninstalling removes the installed files and keeps all memories. The
sandbox drop-in is installed by default only if a trial run succeeds, since not every system allows
user namespaces in a user's unit (decision 0018).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from memd.base.errors import InvalidStateError
from memd.base.paths import Paths, unit_name
from memd.cli import console, options
from memd.cli.daemon import units

LAUNCHD = sys.platform == "darwin"
_SECONDS_MAX = 90
"""Timeout of systemctl and launchctl."""
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108  # only compared; PrivateTmp= replaces them
_TRIAL = ("systemd-run", "--user", "--wait", "--quiet", "-p", "PrivateUsers=yes", "true")


class ProgramResult(NamedTuple):
    """Exit code and output of a program."""

    code: int
    text: str


@options.examples(
    "memd service install",
    "memd service install --print",
    "memd service install --no-sandbox",
    has_json=False,
)
def install(
    print_: Annotated[bool, "--print", "Print the service files; write nothing."] = False,
    sandbox: Annotated[
        bool | None,
        "--sandbox, --no-sandbox",
        "Use the stricter unit; default: if a trial run succeeds.",
    ] = None,
) -> None:
    """Install the service: start the daemon now and at every login."""
    paths = Paths.resolve().with_settings()
    if print_:
        for name, text in _files(paths, sandbox=sandbox is not False).items():
            console.out(f"# {_folder() / name}")
            console.out(text)
        return
    _require_manager()
    strict = sandbox if sandbox is not None else not LAUNCHD and _run(_TRIAL).code == 0
    if strict:
        _refuse_temporary(paths)
    _remove_former(paths)
    changed = _write(_files(paths, sandbox=strict))
    if not strict:
        changed = (
            _remove([n for n in _files(paths, sandbox=True) if n.endswith(".conf")]) or changed
        )
    for place in (paths.data_dir, paths.state_dir, paths.runtime_dir):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for command in _start(paths, changed=changed):
        _run_checked(command)
    console.note(f"memd runs as {_name(paths)}, now and after every login")
    if not LAUNCHD and not strict:
        console.note("the stricter sandbox is off: this system allows a service no user namespaces")


@options.examples("memd service uninstall", has_json=False)
def uninstall() -> None:
    """Stop the daemon and remove the service files. Memories are kept."""
    paths = Paths.resolve().with_settings()
    if remove_service(paths):
        console.note(f"removed {_name(paths)}; the memories in {paths.database} are kept")
    else:
        console.note("no service is installed")


def remove_service(paths: Paths) -> bool:
    """Stop the service of *paths*' profile and remove its files; return whether there were any.

    It can be repeated after an interruption.
    """
    if LAUNCHD:
        name = units.label(paths.profile)
        domain = f"gui/{os.getuid()}"
        return _stop_and_remove(("launchctl", "bootout", f"{domain}/{name}"), [f"{name}.plist"])
    removed = [_remove_unit(name, files) for name, files in _units(paths)]
    return any(removed)


@options.examples("memd service status", "memd service status --json")
def status() -> None:
    """Show whether the service is installed, up to date and running."""
    paths = Paths.resolve().with_settings()
    strict = any(
        (_folder() / n).exists() for n in _files(paths, sandbox=True) if n.endswith(".conf")
    )
    files = _files(paths, sandbox=strict)
    installed = all((_folder() / name).is_file() for name in files)
    current = installed and all(_read(_folder() / name) == text for name, text in files.items())
    active = _active(paths)
    if console.is_json():
        console.print_json({"name": _name(paths), "installed": installed, "current": current,
                     "active": active, "sandbox": strict})  # fmt: skip
    else:
        console.out(f"{_name(paths)}: {'installed' if installed else 'not installed'}, "
                f"{'running' if active else 'not running'}")  # fmt: skip
        if installed and not current:
            console.note('its files are outdated: run "memd service install" again')
    if not (installed and active):
        raise console.CommandExit(console.Exit.NOT_RUNNING)


def command_path() -> Path:
    """Return a path of the ``memd`` command that stays valid after an upgrade.

    Installers such as pipx put a link into a folder of the PATH, and the program into an
    environment that an upgrade replaces. A service must start the link, so links are not followed.
    """
    command = shutil.which("memd")
    invoked = Path(sys.argv[0]).absolute()
    if invoked.name == "memd" and invoked.is_file():
        if command and Path(command).samefile(invoked):
            return Path(command).absolute()
        return invoked
    sibling = Path(sys.executable).with_name("memd")
    for candidate in (Path(command) if command else sibling, sibling):
        if candidate.is_file():
            return candidate.absolute()
    raise InvalidStateError(
        "the memd command is not installed", hint="pip install memd, or pipx install memd"
    )


def _files(paths: Paths, *, sandbox: bool) -> dict[str, str]:
    """Return the service files by their names in :func:`_folder`."""
    if LAUNCHD:
        log = log_of_launchd(paths.profile)
        return units.launchd(command_path(), paths, os.environ, log=log)
    return units.systemd(command_path(), paths, os.environ, sandbox=sandbox)


def log_of_launchd(profile: str) -> Path:
    """Return the log file of *profile*'s daemon under launchd."""
    return Path.home() / "Library" / "Logs" / "memd" / f"{units.stem(profile)}.log"


def _folder() -> Path:
    if LAUNCHD:
        return Path.home() / "Library" / "LaunchAgents"
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "systemd" / "user"


def _name(paths: Paths) -> str:
    return units.label(paths.profile) if LAUNCHD else f"{unit_name(paths.profile)}.service"


def _start(paths: Paths, *, changed: bool) -> list[Sequence[str]]:
    """Return the commands that (re)start the service, none if it is unchanged and running."""
    if LAUNCHD:
        domain, name = f"gui/{os.getuid()}", units.label(paths.profile)
        if not changed and _active(paths):
            return []
        _run(("launchctl", "bootout", f"{domain}/{name}"))
        return [("launchctl", "bootstrap", domain, str(_folder() / f"{name}.plist"))]
    name = unit_name(paths.profile)
    pair = (f"{name}.socket", f"{name}.service")
    commands: list[Sequence[str]] = [
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", *pair),
    ]
    if changed:
        # A running socket unit does not take a new path, and a daemon that was started by hand
        # holds the socket. So both are stopped first.
        commands.append(("systemctl", "--user", "stop", *reversed(pair)))
    return [*commands, ("systemctl", "--user", "start", *pair)]


def _units(paths: Paths) -> list[tuple[str, list[str]]]:
    """Return each unit name with its files: the current name first, then a former one."""
    return list(units.unit_files(paths.profile).items())


def _remove_former(paths: Paths) -> None:
    """Remove units with their former name, which would use the same socket."""
    if not LAUNCHD:
        for name, files in _units(paths)[1:]:
            _remove_unit(name, files)


def _remove_unit(name: str, files: list[str]) -> bool:
    pair = (f"{name}.service", f"{name}.socket")
    if not _stop_and_remove(("systemctl", "--user", "disable", "--now", *pair), files):
        return False
    _run(("systemctl", "--user", "daemon-reload"))
    return True


def _stop_and_remove(stop: Sequence[str], files: list[str]) -> bool:
    if not any((_folder() / name).exists() for name in files):
        return False
    _run(stop)  # fails if it is not running, which is fine
    return _remove(files)


def _active(paths: Paths) -> bool:
    if LAUNCHD:
        return (
            _run(("launchctl", "print", f"gui/{os.getuid()}/{units.label(paths.profile)}")).code
            == 0
        )
    return _run(("systemctl", "--user", "is-active", "--quiet", _name(paths))).code == 0


def _require_manager() -> None:
    """Raise InvalidStateError without the service manager of this system."""
    program = "launchctl" if LAUNCHD else "systemctl"
    if shutil.which(program) is None:
        raise InvalidStateError(
            f"there is no {program} on this system",
            hint='start the daemon with "memd serve", or see "memd service install --print"',
        )


def _refuse_temporary(paths: Paths) -> None:
    """Raise InvalidStateError for a path that the sandboxed service would not see.

    It has its own ``/tmp``: a command there cannot be started (systemd's 203/EXEC), and a
    database there would be deleted with the service.
    """
    for place in (command_path(), paths.data_dir, paths.config_file, paths.socket):
        if any(place.is_relative_to(folder) for folder in _TEMPORARY):
            raise InvalidStateError(
                f"{place} is in a temporary folder, which a sandboxed service cannot see",
                hint="set HOME or MEMD_HOME to a lasting folder, or run: "
                "memd service install --no-sandbox",
            )


def _write(files: dict[str, str]) -> bool:
    """Write the files that differ, each atomically; return whether there were any."""
    changed = False
    for name, text in files.items():
        path = _folder() / name
        if _read(path) == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".new")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
        console.note(f"wrote {path}")
        changed = True
    return changed


def _remove(names: Sequence[str]) -> bool:
    """Remove the files that exist, and an empty drop-in folder; return whether there were any."""
    changed = False
    for path in (_folder() / name for name in names):
        if path.exists():
            path.unlink()
            console.note(f"removed {path}")
            changed = True
            if path.parent.name.endswith(".d") and not any(path.parent.iterdir()):
                path.parent.rmdir()
    return changed


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _run_checked(command: Sequence[str]) -> None:
    result = _run(command)
    if result.code:
        raise InvalidStateError(
            f"{' '.join(command)} failed: {result.text or result.code}",
            hint="the files are written: repeat this in a login session of your own, "
            'or start the daemon with "memd serve"',
        )


def _run(command: Sequence[str]) -> ProgramResult:
    try:
        completed = subprocess.run(  # noqa: S603  # fixed programs, arguments from checked names
            command, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return ProgramResult(127, str(error))
    return ProgramResult(completed.returncode, (completed.stderr or completed.stdout).strip())
