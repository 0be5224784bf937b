"""Fill in the shipped service files for one profile. Pure, except for reading the templates.

In a checkout the templates are in the folders ``systemd/`` and ``launchd/`` next to the package, in
a wheel inside it. Filled in are the command (a path that survives an upgrade), the socket, the
writable paths, and the variables that relocate memd's files.
"""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from memd.base.errors import InvalidStateError
from memd.base.paths import DEFAULT_PROFILE, Paths, unit_name

LABEL = "dev.memd.memd"
CARRIED = ("MEMD_HOME", "MEMD_MODEL_DIR")
"""Variables that the service needs too, or it would use other files."""

_PACKAGE = Path(__file__).resolve().parents[1]
_SANDBOX = "10-sandbox.conf"


def read_shipped(relative: str) -> str:
    """Return the text of the service file *relative*, such as ``systemd/memd.socket``."""
    for root in (_PACKAGE / "units", _PACKAGE.parents[1]):
        path = root / relative
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise InvalidStateError(f"the service file {relative} is missing", hint="reinstall memd")


def stem(profile: str) -> str:
    """Return the prefix of *profile*'s files, formerly also the name of its units."""
    return "memd" if profile == DEFAULT_PROFILE else f"memd-{profile}"


def unit_files(profile: str) -> dict[str, list[str]]:
    """Return the units that any version of memd wrote for *profile*: name -> its files."""
    return {
        name: [f"{name}.service", f"{name}.socket", f"{name}.service.d/{_SANDBOX}"]
        for name in dict.fromkeys((unit_name(profile), stem(profile)))
    }


def systemd(
    command: Path, paths: Paths, environ: Mapping[str, str], *, sandbox: bool
) -> dict[str, str]:
    """Return the user units of *paths*' profile: file name in the unit folder -> text."""
    name = unit_name(paths.profile)
    service = _set_values(
        read_shipped("systemd/memd.service"),
        {
            "Requires": f"{name}.socket",
            "After": f"{name}.socket",
            "ExecStart": " ".join([_quote(_escape(str(command))), *_serve(paths.profile)]),
            "Also": f"{name}.socket",
        },
    )
    service = service.replace("UMask=", _environment_lines(environ) + "UMask=", 1)
    socket = _set_values(
        read_shipped("systemd/memd.socket"),
        {"ListenStream": _with_specifiers(paths.socket, environ)},
    )
    units = {f"{name}.service": service, f"{name}.socket": socket}
    if sandbox:
        places = (paths.runtime_dir, paths.data_dir, paths.state_dir)
        writable = " ".join(_quote("-" + _with_specifiers(place, environ)) for place in places)
        text = _set_values(
            read_shipped(f"systemd/memd.service.d/{_SANDBOX}"), {"ReadWritePaths": writable}
        )
        units[f"{name}.service.d/{_SANDBOX}"] = text
    return units


def launchd(
    command: Path, paths: Paths, environ: Mapping[str, str], *, log: Path
) -> dict[str, str]:
    """Return the agent of *paths*' profile: file name -> text.

    All paths are absolute, because launchd expands neither ``~`` nor variables.
    """
    agent = plistlib.loads(read_shipped(f"launchd/{LABEL}.plist").encode())
    agent["Label"] = label(paths.profile)
    agent["ProgramArguments"] = [str(command), *_serve(paths.profile)]
    agent["StandardOutPath"] = agent["StandardErrorPath"] = str(log)
    agent["Sockets"]["memd"]["SockPathName"] = str(paths.socket)
    for variable in CARRIED:
        if environ.get(variable):
            agent["EnvironmentVariables"][variable] = os.path.abspath(environ[variable])  # noqa: PTH100  # text only
    return {f"{label(paths.profile)}.plist": plistlib.dumps(agent, sort_keys=False).decode()}


def label(profile: str) -> str:
    """Return the launchd label of *profile*'s daemon.

    >>> label("default"), label("work")
    ('dev.memd.memd', 'dev.memd.memd-work')
    """
    return "dev.memd." + stem(profile)


def _serve(profile: str) -> list[str]:
    return ["serve"] if profile == DEFAULT_PROFILE else ["serve", "--profile", profile]


def _set_values(text: str, values: Mapping[str, str]) -> str:
    """Replace the values of the keys in *values* where a unit's *text* has them."""
    lines = []
    for line in text.splitlines():
        key = line.partition("=")[0]
        value = values.get(key)
        lines.append(line if value is None else f"{key}={value}")
    return "\n".join(lines) + "\n"


def _environment_lines(environ: Mapping[str, str]) -> str:
    variables = [(name, environ[name]) for name in CARRIED if environ.get(name)]
    return "".join(
        f"Environment={_quote(_escape(f'{name}={os.path.abspath(value)}'))}\n"  # noqa: PTH100  # text only
        for name, value in variables
    )


def _with_specifiers(path: Path, environ: Mapping[str, str]) -> str:
    """Replace the runtime directory and the home in *path* by the specifiers %t and %h."""
    text = _escape(str(path))
    for specifier, variable in (("%t", "XDG_RUNTIME_DIR"), ("%h", "HOME")):
        base = _escape(environ.get(variable, "").rstrip("/"))
        if base and text.startswith(base + "/"):
            return specifier + text[len(base) :]
    return text


def _escape(text: str) -> str:
    """Return *text* with percent signs that systemd does not take for specifiers such as ``%h``."""
    return text.replace("%", "%%")


def _quote(word: str) -> str:
    """Quote *word* for a unit file if necessary.

    >>> _quote("/a b/memd"), _quote("/a/memd")
    ('"/a b/memd"', '/a/memd')
    """
    if not any(character in word for character in " \t\"'\\"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
