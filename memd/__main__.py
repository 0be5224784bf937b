"""``memd`` and ``python -m memd``.

Four commands do not load the libraries of the command line. ``memd serve`` and ``memd mcp`` run
for long, and would keep them in memory. ``memd hook`` and ``memd statusline`` must be fast,
because an assistant waits for them. All other commands are in ``memd.cli``.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # importing typing and collections.abc would take a tenth of a hook's time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


SWITCH_S = 0.001
"""How long a thread of the daemon may run Python code while another one waits."""


def main() -> int:
    """Run the command in ``sys.argv`` and return the exit code."""
    os.umask(0o077)
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        known, profile = _serve_arguments(arguments[1:])
        if known:
            return _serve(profile)
    if arguments[:1] == ["mcp"]:
        from memd.assist import pump

        chosen = pump.options(arguments[1:])
        if chosen is not None:
            _start_bare(arguments)
            return pump.run(*chosen)
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & set(arguments):
        from memd.assist import hook

        _leave(hook.run(arguments[1:]))
    if arguments[:1] == ["statusline"] and arguments[1:2] not in (["--help"], ["-h"]):
        from memd.assist import statusline

        _leave(statusline.run(arguments[1:]))
    from memd.cli.cli import run

    return run(arguments)


def _start_bare(arguments: Sequence[str]) -> None:
    """Restart Python in this process without ``site``, unless it runs without it already.

    A pump lives as long as its assistant. What ``site`` and the start script load would be a
    quarter of its memory.
    """
    if sys.executable and not sys.flags.no_site:
        os.execv(sys.executable, [sys.executable, "-IS", __file__, *arguments])  # noqa: S606


def _serve_arguments(arguments: Sequence[str]) -> tuple[bool, str | None]:
    """Return whether there are no other options than ``--profile``, and the profile.

    >>> _serve_arguments(["--profile", "work"])
    (True, 'work')
    >>> _serve_arguments(["--help"])
    (False, None)
    """
    profile: str | None = None
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        if argument == "--profile" and pending:
            profile = pending.pop(0)
        elif argument.startswith("--profile="):
            profile = argument.removeprefix("--profile=")
        else:
            return False, None
    return True, profile


def _leave(code: int) -> NoReturn:
    """Exit at once: finalizing the interpreter would take a sixth of a hook's time.

    Output that cannot be written, because nobody reads it, does not change the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or there is none
            continue
    os._exit(code)


def _serve(profile: str | None) -> int:
    # The start creates about 200,000 objects and frees few: garbage collection would take a tenth
    # of its time. The daemon enables it when it is ready.
    gc.disable()
    # A question changes threads about thirty times. While another thread runs Python code, each
    # change waits for the switch interval, which is 5 ms by default.
    sys.setswitchinterval(SWITCH_S)
    # Plugins of pydantic are code of other packages; finding them takes time at the start.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    import signal

    # Until the daemon sets its own handlers there is nothing to close.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: os._exit(0))
    from memd.base.errors import InvalidError
    from memd.base.paths import Paths
    from memd.daemon import serve

    try:
        paths = Paths.resolve(profile)
    except InvalidError as error:
        sys.stderr.write(f"memd: {error.message}\n")
        return 2
    return serve(paths)


if __name__ == "__main__":
    if sys.flags.no_site:  # without site, the folder of the package is not on the path
        sys.path.append(__file__.rsplit("/", 2)[0])
    sys.exit(main())
