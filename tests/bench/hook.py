"""What a prompt waits for its hook: ``python -m tests.bench.hook [--rows 10000] [--json OUT]``.

A real daemon with a store of drawn vectors, a real process for each prompt, each prompt of a
session of its own: ``output`` is from its start to what it prints, ``hook`` to its end. Beside
it, in turn with it, what the machine takes to start an interpreter that does nothing: the ratio
is what holds on another machine. ``cpu`` is the processor's time of the hook's process alone,
which a loaded machine changes little. ``start`` is the first prompt after the daemon's start,
``idle`` the first one after the model was given back (with ``--idle``: it takes a minute).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.mcp_process import bare

from bench.bench_daemon import Stage, new_places, staged, write_result
from bench.large_store import SEED
from bench.large_store import main as filled
from bench.scores import p50_p95

PROMPTS = 100
SOURCE = "claude-code"
IDLE_S = 75
PAUSE_S = 0.4  # the prompt before is stored: nobody types the next one meanwhile
EMPTY = {"python": ["-c", "pass"], "python_S_E": ["-S", "-E", "-c", "pass"]}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hook", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as folder:
        result = measured(Path(folder), options.rows, options.prompts, idle=options.idle)
    write_result(result, options.out)


def measured(home: Path, rows: int, prompts: int, *, idle: bool) -> dict[str, Any]:
    paths = new_places(home)
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text("[daemon]\nmodel_idle_minutes = 1\n")
    texts = filled(paths.database, rows)
    asked = [each.asked for each in random.Random(SEED).sample(texts, prompts + 2)]
    hooks = _Hooks(home)
    with staged(home) as stage:
        client = [sys.executable, "-m", "memd", "client", "add", SOURCE]
        subprocess.run(client, env=bare(home), check=True, capture_output=True)
    result: dict[str, Any] = {"rows": rows, "prompts": prompts}
    with staged(home) as stage:
        result["start_ms"], _ = hooks.prompt(asked.pop())
        result |= _in_turn(hooks, asked[:prompts])
        if idle:
            time.sleep(IDLE_S)
            result["model_given_back"] = not stage.client.call("model.status")["loaded"]
            result["idle_ms"], _ = hooks.prompt(asked.pop())
        result["daemon_prepare_ms"] = _prepared(stage, asked[:prompts])
    result["without_daemon"] = p50_p95([hooks.prompt("Is anybody there?")[0] for _ in range(20)])
    return result


class _Hooks:
    """Runs the hook as Claude Code does."""

    def __init__(self, home: Path) -> None:
        self._environ = bare(home)
        self._number = 0
        script = Path(sys.executable).with_name("memd")  # what settings files name
        self._memd = [str(script)] if script.exists() else ["-m", "memd"]
        self.cpu: list[float] = []
        self.output: list[float] = []

    def prompt(self, text: str) -> tuple[float, bool]:
        """Return the milliseconds of one prompt, and whether it was told anything."""
        before = _children_ms()
        self._number += 1
        payload = {"session_id": f"s{self._number}", "prompt_id": "p", "prompt": text}
        words = [*self._memd, "hook", SOURCE, "UserPromptSubmit"]
        taken = timed(words, self._environ, json.dumps(payload).encode())
        self.cpu.append(_children_ms() - before)
        if taken.output_ms is not None:
            self.output.append(taken.output_ms)
        return taken.ms, taken.output_ms is not None


class _Taken(NamedTuple):
    """How long a process took, and until it printed; None where it printed nothing."""

    ms: float
    output_ms: float | None


def timed(words: list[str], environ: dict[str, str], stdin: bytes = b"") -> _Taken:
    begun = time.perf_counter()
    command = [sys.executable, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        printed = os.read(process.stdout.fileno(), 1)
        output_ms = _since(begun) if printed else None
        process.stdout.read()
        process.wait()
        taken = _Taken(_since(begun), output_ms)
    assert process.returncode == 0
    return taken


def _since(begun: float) -> float:
    return round(1_000 * (time.perf_counter() - begun), 1)


def _in_turn(hooks: _Hooks, asked: list[str]) -> dict[str, Any]:
    """Return the quantiles of hooks and of interpreters that do nothing, one after the other."""
    environ = dict(os.environ)
    taken: dict[str, list[float]] = {"hook": [], **{name: [] for name in EMPTY}}
    answered = 0
    for text in asked:
        time.sleep(PAUSE_S)
        ms, some = hooks.prompt(text)
        taken["hook"].append(ms)
        answered += some
        for name, words in EMPTY.items():
            taken[name].append(timed(words, environ).ms)
    taken["output"] = hooks.output[-answered:]
    figures: dict[str, Any] = {name: p50_p95(each) for name, each in taken.items()}
    for name in EMPTY:
        figures[f"ratio_to_{name}"] = round(figures["hook"]["p50_ms"] / figures[name]["p50_ms"], 2)
    return {**figures, "cpu": p50_p95(hooks.cpu), "told": answered}


def _prepared(stage: Stage, asked: list[str]) -> dict[str, float]:
    def ask(text: str) -> None:
        stage.client.call("inject.prepare", {"query": text, "agent_id": "default"})

    return p50_p95([_ms(ask, text) for text in asked])


def _ms(work: Callable[[str], None], text: str) -> float:
    begun = time.perf_counter()
    work(text)
    return 1_000 * (time.perf_counter() - begun)


def _children_ms() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1_000 * (spent.ru_utime + spent.ru_stime)


if __name__ == "__main__":
    main()
