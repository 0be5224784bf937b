"""``memd llm``: the optional language model, its purposes and tokens, and the log of jobs."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from memd.base.errors import NotFoundError
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.tables import print_items, table, text_column, time_column, word_column
from memd.llm import job_files


@options.examples("memd llm status", "memd llm status --json")
def status() -> None:
    """Show the language model, its purposes and its tokens."""
    answer: dict[str, Any] = call("llm.status")
    if console.print_if_json(answer):
        return
    if answer["provider"] == "none":
        console.out("no language model is set: memd works by rules alone")
        console.note("to set one, see docs/llm.md")
        return
    where = f" at {console.line(answer['where'])}" if answer["where"] else ""
    console.out(f"{answer['provider']}: {console.line(answer['model'] or '-')}{where}")
    if answer["why_not"]:
        until = console.local_time(answer["retry_at"]) if answer["retry_at"] else "-"
        console.out(f"not used until {until}: {console.line(answer['why_not'])}")
    if answer["last_error"]:
        console.out(f"last error: {console.line(answer['last_error'])}")
    spent, budget = answer["night_tokens_spent"], answer["night_tokens"]
    console.out(f"tokens used by naps and nights in 24 hours: {spent} of {budget}")
    columns = (
        word_column("PURPOSE", "purpose", whole=True),
        word_column("BY", lambda purpose: "model" if purpose["uses_model"] else "rule"),
        word_column("CALLS", "completions"),
        word_column("FAILED", "failures"),
        word_column("TOKENS", lambda purpose: purpose["input_tokens"] + purpose["output_tokens"]),
        text_column("WHY", "why_not"),
    )
    table(columns, answer["purposes"])


@options.examples("memd llm jobs", "memd llm jobs 20261123T125503 --json")
def jobs(
    job: Annotated[str | None, "[ID]", "Show this job, with its prompt and answer."] = None,
) -> None:
    """List the jobs sent to the command of llm.command, newest first.

    With an ID, show one job. Needs no daemon.
    """
    folder = Paths.resolve().with_settings().jobs_dir
    if job is None:
        print_items(
            {"items": job_files.jobs_in(folder)},
            (
                word_column("ID", "id", whole=True),
                time_column("WHEN", "began_at"),
                word_column("PURPOSE", lambda job: job["purpose"] or "-", whole=True),
                word_column("STATE", "state", whole=True),
                word_column(
                    "SENT/RECEIVED", lambda job: f"{job['prompt_bytes']}/{job['answer_bytes']}"
                ),
                text_column("WHY", "why"),
            ),
            nothing="no jobs: nothing was sent to a command, or it was erased",
        )
        return
    details = job_files.job_in(folder, job)
    if details is None:
        raise NotFoundError(
            f"no job, or more than one, has the id {job}", hint="memd llm jobs lists them"
        )
    if not console.print_if_json(details):
        _show(details)


def _show(details: dict[str, Any]) -> None:
    took = "-" if details["duration_ms"] is None else f"{details['duration_ms']} ms"
    console.out(f"{details['id']}  {details['purpose']}  {details['state']}")
    console.out(f"command: {console.line(shlex.join(details['command'] or ()))}")
    console.out(f"exit code: {details['exit_code']}, {took}")
    if details["why"]:
        console.out(f"why: {console.line(details['why'])}")
    for name in ("prompt", "answer", "errors"):
        console.out(f"\n{name}:")
        if details[name]:
            console.out(console.quote(details[name].rstrip("\n")))
