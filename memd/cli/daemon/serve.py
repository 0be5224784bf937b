"""``memd serve``, ``status`` and ``version``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from memd import __version__
from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.sleep.sleep import status_line


@options.examples("memd serve", "memd serve --profile work", has_json=False)
def serve() -> None:
    """Run the daemon in the foreground until Ctrl-C or SIGTERM."""
    from memd.base.paths import Paths
    from memd.daemon import serve as run

    code = run(Paths.resolve())
    if code:
        raise console.CommandExit(console.Exit(code))


_LAST = frozenset(
    ("version", "pid", "uptime_s", "rss_bytes", "connections", "in_flight", "model", "check")
)
"""Fields about the daemon, printed after those about the memories."""
_MODEL_DETAILS = frozenset(("fingerprint", "dimension", "window_tokens"))
"""Fields of the model that only --json prints."""


@options.examples("memd status", "memd status --json", "memd status --json | jq .status")
def status() -> None:
    """Show whether memd works and what it holds.

    Exit code: 0 ok, 3 not running, 4 degraded.
    """
    answer: dict[str, Any] = call("system.status")
    if not console.print_if_json(answer):
        answer["model"] = {
            name: value for name, value in answer["model"].items() if name not in _MODEL_DETAILS
        }
        for name in sorted(answer, key=_LAST.__contains__):
            value = answer[name]
            line = _LINES.get(name)
            _show(name, line(value) if line and value else value)
        from memd.cli.memory.answers import report_stored_languages

        report_stored_languages()
        if answer.get("turned_away"):
            console.note(
                "to list what was turned away: memd archive turned-away (--restore restores it)"
            )
    if answer.get("status", "ok") != "ok":
        raise console.CommandExit(console.Exit.DEGRADED)


def check_line(check: dict[str, Any]) -> str:
    """Format a ``SelfCheck`` for ``memd status``.

    >>> check_line({"found": 0, "finished_at": None, "pages": 1_203, "pages_checked": 320})
    'no damage; 320 of 1,203 pages read since the start'
    """
    if check["found"]:
        return f"{console.count(check['found'], 'problem')}; to list them: memd check"
    if check["finished_at"]:
        return f"no damage; all pages read by {console.local_time(check['finished_at'])}"
    return f"no damage; {check['pages_checked']:,} of {check['pages']:,} pages read since the start"


_LINES: dict[str, Callable[[Any], str]] = {
    "sleep": status_line,
    "check": check_line,
    "memories": "{} in all states".format,
}
"""Fields that are printed as a sentence."""


@options.examples("memd version", "memd version --json")
def version() -> None:
    """Print the versions of memd, Python and the main libraries."""
    from importlib.metadata import version as version_of

    parts = {name: version_of(name) for name in ("apsw", "sqlite-vec", "fastembed", "pydantic")}
    python = ".".join(str(n) for n in sys.version_info[:3])
    if console.print_if_json({"memd": __version__, "python": python, **parts}):
        return
    console.out(f"memd {__version__}")
    console.note(
        ", ".join(f"{name} {number}" for name, number in {"python": python, **parts}.items())
    )


def _show(name: str, value: Any, indent: str = "") -> None:
    """Print a field unless it is empty; the fields of an object on indented lines."""
    if value in (None, {}, []):
        return
    name, value = _format_figure(name, value)
    label = f"{indent}{name.replace('_', ' ')}:"
    if isinstance(value, dict):
        console.out(label)
        for field, field_value in value.items():
            _show(field, field_value, indent + "  ")
    elif isinstance(value, list):
        console.out(f"{label:<22} {', '.join(console.line(str(item)) for item in value)}")
    else:
        console.out(f"{label:<22} {console.line(str(value))}")


def _format_figure(name: str, value: Any) -> tuple[str, Any]:
    """Move the unit from the name of a figure to its value, and format times in local time.

    >>> _format_figure("rss_bytes", 51_900_416), _format_figure("uptime_s", 3)
    (('rss', '51.9 MB'), ('uptime', '3 s'))
    >>> _format_figure("installed", True)
    ('installed', 'yes')
    """
    if isinstance(value, bool):
        return name, "yes" if value else "no"
    if isinstance(value, str) and name.endswith("_at"):
        return name, console.local_time(value)
    if isinstance(value, int) and name.endswith("_bytes"):
        return name.removesuffix("_bytes"), f"{value / 1e6:.1f} MB"
    if isinstance(value, int) and name.endswith("_s"):
        return name.removesuffix("_s"), f"{value} s"
    return name, value
