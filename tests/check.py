"""The gate: everything that must hold before a change lands, in one command.

    python -m tests.check            # what a build server runs
    python -m tests.check --long     # with the long versions of the tests; before a release
    python -m tests.check quick      # while you work: the static checks and unit
    python -m tests.check unit       # some steps by name
    python -m tests.check --long fences   # the fence and secret suites alone, in full
    python -m tests.check --long clients  # real assistants, fetched with npm, against a fake model
    python -m tests.check torch      # training the encoder; after pip install -e '.[dev,torch]'

Steps run in the order of their price and stop at the first that fails, with its
whole output. Tests run on all cores, those of one file on the same, as they may share
a daemon. All that open a store or start a daemon are one step, ``integration``: what waits for
a process leaves its core to what computes. Their files lie in memory where the system has
room for them there: stores are synced to the disk thousands of times. Nothing is read from the
person's own settings.

The gate kills, draws and cuts as often as it takes to find every planted fault; ``--long``
does so many times more, with other seeds (decision 0153 has the counts of both).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SHORT = ("-m", "not long")
LONG = ("--hypothesis-profile=long",)
PURE = ("house", "unit")
"""No store and no daemon: nothing in them waits."""
INTEGRATION = ("property", "poison", "examples", "store", "crash", "e2e")
"""The folders of one step of the gate; by name each is a step of its own."""
BESIDE = "types"
"""It computes on one core: beside the steps after it, and told when it is done."""
QUICK = ("format", "lint", "imports", "types", "unit")
"""What ``quick`` stands for: no daemon and no store, so that it fits between two edits."""
SUITES = {
    "house": ("tests/house",),
    "fences": (
        "tests/unit/view",
        "tests/unit/guard/test_secrets.py",
        "tests/unit/guard/test_secret_list.py",
        "tests/property/test_view_fuzz.py",
        "tests/store/test_no_secret_at_rest.py",
        "tests/e2e/test_hostile_everywhere.py",
        "tests/e2e/test_secrets_everywhere.py",
    ),
    "clients": ("tests/clients",),
    "torch": ("tests/e2e/test_trained_encoder.py", "tests/unit/embedding/test_sentence_reader.py"),
}
"""What is run when it is named: parts of the folders, and what a gate must not wait for."""
WORKERS_MORE = 2
"""Where tests wait for disks and processes, a fifth of their time: more workers fill it."""
NO_TESTS = 5  # pytest's code for an empty folder
WORKERS_MAX = 4  # each may load a model and start daemons
MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of our own in it, made by tempfile
MEMORY_BYTES_MIN = 2 * 1024**3
WIDTH = 12


class Step(NamedTuple):
    """One check: a name, what it is for, and the command."""

    name: str
    what: str
    command: tuple[str, ...]


class Done(NamedTuple):
    """What a step came to."""

    code: int
    output: str
    seconds: float


def steps(*, long: bool) -> Iterator[Step]:
    """Yield the steps in order."""
    yield Step("format", "ruff format", (str(BIN / "ruff"), "format", "--check", "."))
    yield Step("lint", "ruff", (str(BIN / "ruff"), "check", "."))
    yield Step("imports", "import-linter", (str(BIN / "lint-imports"),))
    yield Step("types", "mypy, strict", (str(BIN / "mypy"),))
    chosen = LONG if long else SHORT
    yield _pytest("unit", ["tests/house", "tests/unit", "memd"], chosen)
    yield _pytest("integration", [f"tests/{folder}" for folder in INTEGRATION], chosen)


def suites(*, long: bool) -> Iterator[Step]:
    """Yield the steps that are run by name only."""
    by_name = {folder: (f"tests/{folder}",) for folder in INTEGRATION} | SUITES
    for name, where in by_name.items():
        yield _pytest(name, where, LONG if long else SHORT)


def _pytest(name: str, where: Sequence[str], chosen: Sequence[str]) -> Step:
    workers = min(os.cpu_count() or 1, WORKERS_MAX) + (0 if name in PURE else WORKERS_MORE)
    options = ("-q", "--no-header", "-p", "no:cacheprovider", "--durations=3")
    # The longest files begin first (conftest.py), not those with the most tests.
    spread = ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder")
    command = (sys.executable, "-m", "pytest", *options, *spread, *chosen, *where)
    return Step(name, f"pytest {' '.join(where)}", command)


def main(argv: list[str] | None = None) -> int:
    """Run the gate; return 0 when everything holds."""
    chosen = _arguments(argv)
    if "quick" in chosen.steps:
        chosen.steps = [*QUICK, *chosen.steps]
    known = list(steps(long=chosen.long))
    known += [step for step in suites(long=chosen.long) if step.name in chosen.steps]
    unknown = set(chosen.steps) - {step.name for step in known} - {"model", "quick"}
    if unknown:
        print(f"no such step: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    began = time.monotonic()
    with _place() as place:
        code = _all(chosen.steps, known, _environ(), place)
    if not code:
        print(f"{'all':<{WIDTH}} {time.monotonic() - began:6.1f} s  ok")
    return code


def _all(
    chosen: Sequence[str], known: Sequence[Step], environ: dict[str, str], place: Path | None
) -> int:
    if not chosen or {"model", "unit", "integration", *INTEGRATION, *SUITES} & set(chosen):
        code = _report("model", "the embedding model", lambda: _model(environ))
        if code:
            return code
    todo = [step for step in known if not chosen or step.name in chosen]
    with ThreadPoolExecutor(max_workers=1) as aside:
        waiting: tuple[Step, Future[Done]] | None = None
        for step in todo:
            command = step.command
            if place is not None and "pytest" in command:
                command += (f"--basetemp={place / step.name}",)
            work = functools.partial(_run, command, environ)
            if step.name == BESIDE and step is not todo[-1]:
                waiting = step, aside.submit(work)
                continue
            code = _report(step.name, step.what, work)
            if waiting is not None and (code or step is todo[-1] or waiting[1].done()):
                code = _report(waiting[0].name, waiting[0].what, waiting[1].result) or code
                waiting = None
            if code:
                return code
    return 0


@contextlib.contextmanager
def _place() -> Iterator[Path | None]:
    """Yield a folder in memory for the tests' files, or None where there is none or little room."""
    try:
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        free = 0
    if free < MEMORY_BYTES_MIN:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="memd", dir=MEMORY, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.check", description="The gate of memd.")
    parser.add_argument("steps", nargs="*", help="only these steps, or quick; by default all")
    parser.add_argument("--long", action="store_true", help="also the long versions of the tests")
    return parser.parse_args(argv)


def _environ() -> dict[str, str]:
    """Return an environment without the person's own memd in it, and with the model's folder.

    Bytecode is kept even where containers are told not to: the tests start hundreds of
    processes, and each would compile memd anew.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMD_")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environ["PYTHONPATH"] = os.pathsep.join(
        path for path in (str(ROOT), os.environ.get("PYTHONPATH", "")) if path
    )
    environ["MEMD_MODEL_DIR"] = os.environ.get("MEMD_MODEL_DIR") or str(_cache())
    return environ


def _cache() -> Path:
    import platformdirs

    from memd.base.paths import MODEL_NAME

    return platformdirs.user_cache_path("memd-tests") / MODEL_NAME


def _model(environ: dict[str, str]) -> Done:
    """Install the model for the tests unless it is there; kept between runs."""
    return _run((sys.executable, "-m", "memd", "model", "install"), environ)


def _run(command: Sequence[str], environ: dict[str, str]) -> Done:
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    code = 0 if done.returncode == NO_TESTS and "pytest" in command else done.returncode
    return Done(code, done.stdout, time.monotonic() - began)


def _report(name: str, what: str, work: Callable[[], Done]) -> int:
    """Run one step and print its line; with its output when it fails."""
    print(f"{name:<{WIDTH}} ", end="", flush=True)
    done = work()
    summary = _summary(done.output) if what.startswith("pytest") else ""
    print(
        f"{done.seconds:6.1f} s  {'ok' if not done.code else 'FAILED'}  {summary or what}",
        flush=True,
    )
    if done.code:
        print(f"\n{done.output.rstrip()}\n")
        print(f"again: python -m tests.check {name}")
        return 1
    return 0


def _summary(output: str) -> str:
    """Return pytest's last line, which counts the tests, and every reason of a skip."""
    lines = output.strip().splitlines()
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    return "; ".join([*lines[-1:], *skipped])


if __name__ == "__main__":
    sys.exit(main())
