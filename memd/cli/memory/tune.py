"""``memd tune``: run, show, cancel, select and undo tunings of recall."""

from __future__ import annotations

import time
from typing import Annotated, Any

from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.progress import Progress
from memd.cli.tables import id_column, table, text_column, time_column

POLL_S = 0.3
"""Time between two polls of a run."""

_STAGES = {
    "generating_data": "making pairs",
    "mining_negatives": "mining hard negatives",
    "training": "training",
    "evaluating": "evaluating",
    "deploying": "deploying",
}
Detach = Annotated[bool, "--detach", "Run in the background; see: memd tune status."]
Resume = Annotated[bool, "--resume", "Resume the last run, which failed or was cancelled."]


Weights = Annotated[bool, "--weights", "Also fit the weights of the ranker; see docs/tuning.md."]
Encoder = Annotated[bool, "--encoder", "Train the embedding model instead; requires torch."]


@options.examples("memd tune run", "memd tune run --encoder", "memd tune run --resume --json")
def run(
    resume: Resume = False,
    weights: Weights = False,
    encoder: Encoder = False,
    detach: Detach = False,
) -> None:
    """Tune recall on your own memories.

    Makes pairs, mines hard negatives, trains and evaluates. The result is used only if it is better
    on held-out pairs; "memd tune undo" reverts it.
    """
    params = {"resume": resume, "weights": weights, "encoder": encoder}
    with daemon() as client:
        done: dict[str, Any] = client.call("tune.start", params)
        if not detach:
            done = _wait(client, done)
    if not console.print_if_json(done):
        _print_run(done)
    if done["error"] is not None:
        raise console.CommandExit(console.Exit.ERROR)


@options.examples("memd tune status", "memd tune status --json")
def status() -> None:
    """Show the tuning in use, and the last runs."""
    answer = call("tune.status")
    if console.print_if_json(answer):
        return
    console.out(f"in use: {answer['active'] or 'as shipped'}")
    columns = (
        id_column("RUN", "run_id"),
        time_column("BEGAN", "started_at"),
        text_column("RESULT", _result),
    )
    table(columns, answer["runs"])
    if not answer["runs"]:
        console.note("no runs yet; to start one: memd tune run")


@options.examples("memd tune cancel")
def cancel() -> None:
    """Cancel the current run; "memd tune run --resume" continues it."""
    _print_active(call("tune.cancel"))


@options.examples("memd tune use 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def use(run_id: Annotated[str, "RUN", "Run id, as printed by status."]) -> None:
    """Use the result of an earlier successful run again."""
    _print_active(call("tune.activate", run_id=run_id))


@options.examples("memd tune undo")
def undo() -> None:
    """Revert to the previous tuning, or to the default."""
    _print_active(call("tune.rollback"))


def _print_active(answer: dict[str, Any]) -> None:
    console.answer(answer, f"in use: {answer['active'] or 'as shipped'}")


def _wait(client: Any, run: dict[str, Any]) -> dict[str, Any]:
    """Show the progress of the run until it ends, and return it."""
    with Progress("tuning", unit="%") as progress:
        try:
            while run["completed_at"] is None:
                stage = _STAGES.get(run["stage"], run["stage"])
                progress.share(stage, run["progress"] or 0.0)
                time.sleep(POLL_S)
                runs = client.call("tune.status")["runs"]
                run = next(other for other in runs if other["run_id"] == run["run_id"])
        except KeyboardInterrupt:
            console.note('memd: the run continues in the daemon; "memd tune cancel" stops it')
            raise
    return run


def _print_run(run: dict[str, Any]) -> None:
    console.out(f"run {run['run_id']}: {_result(run)}")
    if run["pairs"]:
        console.out(f"  pairs: {run['pairs']:,}, {run['held_out']:,} of them held out")
    verdict = run["verdict"]
    if verdict is not None:
        console.out(f"  trained: {run['trained']}")
        for name, key in (("NDCG@10", "ndcg"), ("recall@10", "recall"), ("told", "told")):
            before, after = verdict[f"base_{key}"], verdict[f"tuned_{key}"]
            console.out(f"  {name:<10} {before:.3f} before, {after:.3f} tuned")
    if run["model"]:
        console.note(f"memd switches to {run['model']} in the background; to undo: memd model undo")
    elif run["deployed"]:
        console.note("to undo: memd tune undo")


def _result(run: dict[str, Any]) -> str:
    """Return the result of a run, or its stage, in a line."""
    if run["error"] is not None:
        return f"failed: {run['error']}"
    if run["completed_at"] is None:
        return str(_STAGES.get(run["stage"], run["stage"]))
    if run["active"]:
        return "better, and in use"
    if run["model"]:
        return f"better: {run['model']}"
    if run["deployed"]:
        return "better, not in use now"
    return "not better on the held-out pairs; nothing was changed"
