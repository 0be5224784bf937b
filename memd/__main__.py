"""``memd`` and ``python -m memd``.

``memd serve`` goes straight to the daemon and ``memd mcp`` to the pump: the command
line's libraries would cost them memory for as long as they live. What an assistant waits
for, ``memd hook`` and ``memd statusline``, does without them, too. Everything else is
``memd.cli``.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # that of typing, and collections.abc, would be a tenth of a hook's time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


SWITCH_S = 0.001
"""How long a thread of the daemon computes in Python while another one waits."""


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
    """Start again in this process, without what the script and ``site`` loaded, unless done.

    A pump lives as long as its assistant: a quarter of its memory would be theirs.
    """
    if sys.executable and not sys.flags.no_site:
        os.execv(sys.executable, [sys.executable, "-IS", __file__, *arguments])  # noqa: S606


def _serve_arguments(arguments: Sequence[str]) -> tuple[bool, str | None]:
    """Return whether *arguments* are all understood here, and the profile they name.

    >>> _serve_arguments(["--profile", "work"])
    (True, 'work')
    >>> _serve_arguments(["--help"])
    (False, None)
    """
    profile: str | None = None
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--profile" and waiting:
            profile = waiting.pop(0)
        elif argument.startswith("--profile="):
            profile = argument.removeprefix("--profile=")
        else:
            return False, None
    return True, profile


def _leave(code: int) -> NoReturn:
    """End the process at once: taking an interpreter apart is a sixth of what a hook takes.

    An output that nobody reads any more is lost here, too, and changes no exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or there is none
            continue
    os._exit(code)


def _serve(profile: str | None) -> int:
    # A start makes some 200,000 objects and drops few: looking for garbage among them again and
    # again is a tenth of its time. The daemon collects from when it is ready.
    gc.disable()
    # A question goes from thread to thread some thirty times, and while another one computes in
    # Python each step waits for its turn to end: of five milliseconds, unless told otherwise.
    sys.setswitchinterval(SWITCH_S)
    # The plugins of pydantic are other packages' code, looked for among all that is installed.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    import signal

    # Until the daemon listens for itself there is nothing to close.
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
    if sys.flags.no_site:  # nothing else says where memd is
        sys.path.append(__file__.rsplit("/", 2)[0])
    sys.exit(main())
