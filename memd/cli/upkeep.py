"""Look after the file: check it, rebuild its caches, copy it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from memd.cli import options, say
from memd.cli.reach import LONG_SECONDS_MAX, daemon


@options.examples("memd check", "memd check --json")
def check(profile: options.Profile = None, json: options.Json = False) -> None:
    """Check every page, row, checksum and cache of the file. Exit code 1: something is wrong."""
    report = _long(profile, "store.check")
    if json:
        say.as_json(report)
    else:
        _tell(report)
    if not report.get("ok", not report.get("problems")):
        say.note('memd: the file is damaged; caches are mended by "memd rebuild", rows by a backup')
        raise say.Leave(say.Exit.ERROR)


@options.examples("memd rebuild")
def rebuild(profile: options.Profile = None, json: options.Json = False) -> None:
    """Make the word and vector caches again from the memories themselves."""
    report = _long(profile, "store.rebuild")
    if json:
        say.as_json(report)
    else:
        _tell(report)


@options.examples("memd backup", "memd backup /media/disk/memd.db")
def backup(
    target: Annotated[
        Path | None, options.Argument(help="The file to write; by default one in the data folder.")
    ] = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Write a checked copy of the whole memory while the daemon goes on. Prints its path."""
    params = {"target": str(target.absolute())} if target else {}
    report = _long(profile, "store.backup", params)
    if json:
        say.as_json(report)
        return
    say.out(str(report.get("path", target)))
    say.note(", ".join(f"{name} {value}" for name, value in report.items() if name != "path"))


def _long(profile: str | None, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    with daemon(profile, seconds_max=LONG_SECONDS_MAX) as client:
        report: dict[str, Any] = client.call(method, params or {})
    return report


def _tell(report: dict[str, Any]) -> None:
    for name, value in report.items():
        if isinstance(value, list):
            say.out(f"{name}: {len(value) or 'none'}")
            for item in value:
                say.out(f"  {say.line(str(item))}")
        else:
            say.out(f"{name}: {say.line(str(value))}")
