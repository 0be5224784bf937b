"""Write the generated pages: ``python -m tests.support.docs``.

``docs/cli.md`` is made from the command line, ``docs/api.md`` from the table of methods,
``docs/settings.md`` from the models of the settings. A test in ``tests/house`` fails when a page
is out of date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_origin

ROOT = Path(__file__).resolve().parents[2]

CLI_HEAD = """\
# The command line

Made from the code by `python -m tests.support.docs`.

Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 error, 2 usage error, 3 the
daemon is not running, 4 degraded, 78 invalid configuration. `--json` prints one object that begins
with `"v": 1`. Colours are used only on a terminal and never with `NO_COLOR`. Every command takes
`--help`, and `--profile NAME`, the profile to use (default: `$MEMD_PROFILE`).

On a terminal, lists begin with the text, fit the width, and show short ids and local times. In a
pipe each row is one line without a heading: tab-separated columns in a fixed order, full ids and
texts, times in UTC (RFC 3339). `--json` has all fields. Wherever an id is expected, its last six or
more characters are enough.
"""

API_HEAD = """\
# The socket

Made from the code by `python -m tests.support.docs`.

JSON-RPC 2.0 over a Unix socket (`memd config path --json` prints its path), one JSON object per
line of at most 1 MiB and 32 levels of nesting, with `"jsonrpc": "2.0"` and `params` as an object; a
batch holds at most 64 requests. [Write an assistant](writing-an-assistant.md) shows the calls of an
assistant, and explains the [params](writing-an-assistant.md#params-of-several-methods) that several
methods have, such as `since`, `min_relevance` and `include_shared`. Times are RFC 3339 with a zone.
A method with the param `after` returns `{items, next}`; `next` is the `after` of the following
call, null at the end. Other lists return `{items}`, and
{arrays} a bare array. A write with an `idempotency_key` happens once, however often it is sent
within 7 days; the same key with another request is an error of kind `conflict`. An id of a memory,
fact or run, and of a session that is read, may be shortened to its last six or more characters; an
ambiguous one is an error of kind `invalid` that names the candidates.

Two notifications go with long work, the first for a request with a `progress_token`. The second
cancels a request, which is answered with an error of kind `cancelled`:

```
{"jsonrpc": "2.0", "method": "$/progress", "params": {"token": 7, "value": {"done": 2, "total": 9}}}
{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}
```

`rpc.discover` returns this page as an OpenRPC document: of each method the types, defaults and
bounds of its params, its result, the scope that it needs (`x-scope`) and whether it writes
(`x-writes`), and beside the methods `components`, which a `$ref` names, and the kinds of errors
with their codes (`x-error-kinds`). To see one method:

```sh
python -c 'import json, sys; from memd.client import Client
methods = {each["name"]: each for each in Client().call("rpc.discover")["methods"]}
print(json.dumps(methods[sys.argv[1]], indent=2))' usage.report
```

The `data` of an error has `kind`, `retry` (true if the same request may succeed later), and where
applicable `field`, `hint` and `incident`. The [Python client](python.md) raises the class in
`memd.base.errors` that has this `kind`.

A connection:

- works on at most 32 requests at a time and answers them in any order; further ones wait;
- is closed after 10 minutes without a request, unless it is subscribed to events, and when a line
  takes more than 2 seconds to arrive;
- is closed when its client leaves more than 256 KiB of answers unread for 5 seconds, or more than
  4 MiB at all; writes that had begun are done;
- gets an error with `id: null` for a line of which the id cannot be read; it can if only `jsonrpc`
  and `method` stand before it, even in a line that is not JSON or nested too deeply;
- gets one of kind `too_large` for a line that is too long, after the answers to all earlier
  requests, and is closed; it is about the oldest request that has no answer;
- gets one of kind `busy` if 256 others are open, and is closed.

JSON is read strictly: a byte order mark, a key that is given twice in one object, `NaN`, a whole
number of more than 64 bits, an `id` with a fraction, and a string with NUL or a lone surrogate are
refused. A list of items is stored whole or not at all: one blank text refuses `memory.ingest_many`.

Required params are in bold. The scope is the one that a client key needs ([access](access.md)).
"""


def cli_page() -> str:
    """Return ``docs/cli.md``."""
    from memd.cli.commands import COMMANDS, GROUPS

    parts = [CLI_HEAD]
    parts += [_command(name, entry.load()) for name, entry in COMMANDS.items()]
    for name, group in GROUPS.items():
        parts.append(f"## memd {name}\n\n{group.summary}\n")
        parts += [_command(f"{name} {each.name}", each.load(), level=3) for each in group.entries]
    return "\n".join(parts)


def api_page() -> str:
    """Return ``docs/api.md``."""
    from memd.records.entities import ENTITIES
    from memd.serve.routes.routes import methods, records

    bare = [f"`{method.name}`" for method in methods().values() if _is_array(method.result)]
    arrays = f"{', '.join(bare[:-1])} and {bare[-1]}"
    parts = [
        API_HEAD.replace("{arrays}", arrays),
        "| method | scope | what | params |",
        "|---|---|---|---|",
    ]
    for method in (*methods().values(), *records().values()):
        params = ", ".join(_params(method.params)) or "none"
        parts.append(f"| `{method.name}` | {method.scope} | {method.summary} | {params} |")
    parts += ["", "## Fields of records", "", "| entity | fields |", "|---|---|"]
    for entity in ENTITIES.values():
        parts.append(f"| `{entity.name}` | {', '.join(_params(entity.model))} |")
    return "\n".join(parts) + "\n"


def _is_array(result: Any) -> bool:
    return get_origin(result) is tuple


def _params(model: Any) -> Iterator[str]:
    """Yield the names of a model's fields, those that must be given first and in bold."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    for name, field in fields:
        yield f"**{name}**" if field.is_required() else name


def _command(name: str, command: Callable[..., Any], level: int = 2) -> str:
    from memd.cli.options import PROFILE, Option, parameters

    lines = [f"{'#' * level} memd {name}", "", inspect.getdoc(command) or "", ""]
    for parameter in parameters(command):
        if parameter is PROFILE:
            continue  # the head of the page has it
        how = parameter.declaration
        if isinstance(how, Option):
            value = f" {how.metavar}" if how.metavar else ""
            lines.append(f"- `{', '.join(how.names)}{value}`: {how.help}")
        else:
            lines.append(f"- `{how.metavar}`: {how.help}")
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
