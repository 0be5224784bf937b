"""Writes the pages that are made from the code: ``python -m tests.support.docs``.

``docs/cli.md`` from the command line, ``docs/api.md`` from the table of methods,
``docs/settings.md`` from the models of the settings.
A test in ``tests/house`` fails when a page is not what this would write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

CLI_HEAD = """\
# The command line

Made from the code by `python -m tests.support.docs`.

Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 error, 2 usage, 3 the daemon
is not running, 4 degraded, 78 the configuration cannot be read. `--json` prints one object that
begins with `"v": 1`. Colours only on a terminal and never with `NO_COLOR`.

Lists on a terminal begin with the text, fit its width, show the ends of ids and local times. In a
pipe they are one line a row without a heading, the columns between tabs in a fixed order, ids and
texts whole, times in UTC (RFC 3339); `--json` has everything. The end of an id, six characters or
more, is as good as the whole wherever one is typed.
"""

API_HEAD = """\
# The socket

Made from the code by `python -m tests.support.docs`.

JSON-RPC 2.0 over a Unix socket (`memd config path --json` names it), one JSON object a line, at
most 1 MiB. `rpc.discover` returns the whole of this as an OpenRPC document, with the schemas of
params and results. Times are RFC 3339 with a zone. Lists return `{items, next}`; `next` is the
following call's `after`. A write with an `idempotency_key` happens once, however often it is sent.
Long work with a `progress_token` sends `$/progress`; `$/cancelRequest` cancels. An id of a memory,
fact or run may be given by its end, six characters or more; the end of more than one is an
`invalid` that names them.

An error's `data` has `kind`, `retry` (the same request may succeed later), and where it helps
`field`, `hint` and `incident`. The Python client raises the class of `kind` from
`memd.base.errors`.
"""


def cli_page() -> str:
    """Return ``docs/cli.md``."""
    from memd.cli.cli import COMMANDS, GROUPS, load

    parts = [CLI_HEAD]
    parts += [_command(entry.name, load(entry)) for entry in COMMANDS]
    for group, (summary, entries) in GROUPS.items():
        parts.append(f"## memd {group}\n\n{summary}\n")
        parts += [_command(f"{group} {entry.name}", load(entry), level=3) for entry in entries]
    return "\n".join(parts)


def api_page() -> str:
    """Return ``docs/api.md``."""
    from memd.serve.routes.routes import methods, records

    parts = [API_HEAD, "| method | what | params |", "|---|---|---|"]
    for method in (*methods().values(), *records().values()):
        params = ", ".join(_params(method.params)) or "none"
        parts.append(f"| `{method.name}` | {method.summary} | {params} |")
    return "\n".join(parts) + "\n"


def _params(model: Any) -> Iterator[str]:
    """Yield the names of a model's fields, those that must be given first and in bold."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    for name, field in fields:
        yield f"**{name}**" if field.is_required() else name


def _command(name: str, command: Callable[..., Any], level: int = 2) -> str:
    from memd.cli import words
    from memd.cli.options import Option

    lines = [f"{'#' * level} memd {name}", "", inspect.getdoc(command) or "", ""]
    for parameter in words.parameters(command):
        how = parameter.how
        if isinstance(how, Option):
            value = f" {how.metavar}" if how.metavar else ""
            lines.append(f"- `{', '.join(how.names)}{value}`: {how.help}")
        else:
            lines.append(f"- `{how.metavar or parameter.name.upper()}`: {how.help}")
    lines += ["", "```sh", *getattr(command, "examples", ()), "```", ""]
    return "\n".join(lines)


def settings_page() -> str:
    """Return ``docs/settings.md``."""
    from .settings_page import settings_page  # noqa: TID252  # tests.support by hand, else support

    return settings_page()


PAGES: dict[str, Callable[[], str]] = {
    "docs/cli.md": cli_page,
    "docs/api.md": api_page,
    "docs/settings.md": settings_page,
}


def main() -> int:
    """Write every page."""
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
