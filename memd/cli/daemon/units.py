"""The service files, as text: found where they are shipped, filled in for one profile.

Pure but for reading the shipped files. In a checkout they stand in ``systemd/``
and ``launchd/`` beside the package; a wheel carries them inside it. What is
filled in: the command (a path that survives an upgrade), the socket, the places
that may be written, and the variables that move memd's places.
"""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from memd.base.errors import InvalidStateError
from memd.base.paths import DEFAULT_PROFILE, Paths

LABEL = "dev.memd.memd"
CARRIED = ("MEMD_HOME", "MEMD_MODEL_DIR")
"""Variables that must hold for the service too, or it would be another memd."""

_PACKAGE = Path(__file__).resolve().parents[1]
_SANDBOX = "10-sandbox.conf"


def read_shipped(relative: str) -> str:
    """Return the text of the service file *relative*, such as ``systemd/memd.socket``."""
    for root in (_PACKAGE / "units", _PACKAGE.parents[1]):
        path = root / relative
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise InvalidStateError(f"the service file {relative} is missing", hint="reinstall memd")


def instance(profile: str) -> str:
    """Return the name of *profile*'s units for systemd, without the ending.

    >>> instance("default"), instance("work")
    ('memd', 'memd@work')
    """
    return "memd" if profile == DEFAULT_PROFILE else f"memd@{profile}"


def stem(profile: str) -> str:
    """Return what the files of *profile* begin with; its units were called so as well."""
    return "memd" if profile == DEFAULT_PROFILE else f"memd-{profile}"


def unit_files(profile: str) -> dict[str, list[str]]:
    """Return the units that any version wrote for *profile*: name -> files below the folder."""
    return {
        name: [f"{name}.service", f"{name}.socket", f"{name}.service.d/{_SANDBOX}"]
        for name in dict.fromkeys((instance(profile), stem(profile)))
    }


def systemd(
    command: Path, paths: Paths, environ: Mapping[str, str], *, sandbox: bool
) -> dict[str, str]:
    """Return the user units of *paths*' profile: file name below the unit folder -> text."""
    name = instance(paths.profile)
    service = _set_values(
        read_shipped("systemd/memd.service"),
        {
            "Requires": f"{name}.socket",
            "After": f"{name}.socket",
            "ExecStart": " ".join([_quote(str(command)), *_serve(paths.profile)]),
            "Also": f"{name}.socket",
        },
    )
    service = service.replace("UMask=", _environment_lines(environ) + "UMask=", 1)
    socket = _set_values(
        read_shipped("systemd/memd.socket"),
        {"ListenStream": _with_specifiers(paths.socket, environ), "Service": None},
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
    """Return the agent of *paths*' profile: file name -> text. launchd expands nothing itself."""
    agent = plistlib.loads(read_shipped(f"launchd/{LABEL}.plist").encode())
    agent["Label"] = label(paths.profile)
    agent["ProgramArguments"] = [str(command), *_serve(paths.profile)]
    agent["StandardOutPath"] = agent["StandardErrorPath"] = str(log)
    agent["Sockets"]["memd"]["SockPathName"] = str(paths.socket)
    for variable in CARRIED:
        if environ.get(variable):
            agent["EnvironmentVariables"][variable] = environ[variable]
    return {f"{label(paths.profile)}.plist": plistlib.dumps(agent, sort_keys=False).decode()}


def label(profile: str) -> str:
    """Return what launchd calls *profile*'s daemon.

    >>> label("default"), label("work")
    ('dev.memd.memd', 'dev.memd.memd-work')
    """
    return "dev.memd." + stem(profile)


def _serve(profile: str) -> list[str]:
    return ["serve"] if profile == DEFAULT_PROFILE else ["serve", "--profile", profile]


def _set_values(text: str, values: Mapping[str, str | None]) -> str:
    """Return a unit's *text* with the value of each key replaced; None leaves a key alone."""
    lines = []
    for line in text.splitlines():
        key = line.partition("=")[0]
        value = values.get(key)
        lines.append(line if value is None else f"{key}={value}")
    return "\n".join(lines) + "\n"


def _environment_lines(environ: Mapping[str, str]) -> str:
    given = [(name, environ[name]) for name in CARRIED if environ.get(name)]
    return "".join(
        f"Environment={_quote(f'{name}={os.path.abspath(value)}')}\n"  # noqa: PTH100  # text only
        for name, value in given
    )


def _with_specifiers(path: Path, environ: Mapping[str, str]) -> str:
    """Return *path* with the runtime directory and the home as the specifiers %t and %h."""
    text = str(path).replace("%", "%%")
    for specifier, variable in (("%t", "XDG_RUNTIME_DIR"), ("%h", "HOME")):
        base = environ.get(variable, "").rstrip("/").replace("%", "%%")
        if base and text.startswith(base + "/"):
            return specifier + text[len(base) :]
    return text


def _quote(word: str) -> str:
    """Return *word* as one word of a unit file.

    >>> _quote("/a b/memd"), _quote("/a/memd")
    ('"/a b/memd"', '/a/memd')
    """
    if not any(character in word for character in " \t\"'\\"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
