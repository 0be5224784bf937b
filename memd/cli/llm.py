"""``memd llm``: the optional language model, its purposes and tokens, and the log of jobs."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from memd.base.errors import NotFoundError
from memd.base.paths import Paths
from memd.cli import options, say
from memd.cli.reach import call
from memd.cli.tables import print_items, table, text_column, time_column, word_column
from memd.llm import job_files


@options.examples("memd llm status", "memd llm status --json")
def status() -> None:
    """Show the language model, its purposes and its tokens."""
    answer: dict[str, Any] = call("llm.status")
    if say.print_if_json(answer):
        return
    if answer["provider"] == "none":
        say.out("no language model is set: memd works by rules alone")
        say.note("to set one, see docs/llm.md")
        return
    where = f" at {say.line(answer['where'])}" if answer["where"] else ""
    say.out(f"{answer['provider']}: {say.line(answer['model'] or '-')}{where}")
    if answer["why_not"]:
        until = say.local_time(answer["retry_at"]) if answer["retry_at"] else "-"
        say.out(f"not used until {until}: {say.line(answer['why_not'])}")
    if answer["last_error"]:
        say.out(f"last error: {say.line(answer['last_error'])}")
    spent, budget = answer["night_tokens_spent"], answer["night_tokens"]
    say.out(f"tokens used by naps and nights in 24 hours: {spent} of {budget}")
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
    if not say.print_if_json(details):
        _show(details)


def _show(details: dict[str, Any]) -> None:
    took = "-" if details["duration_ms"] is None else f"{details['duration_ms']} ms"
    say.out(f"{details['id']}  {details['purpose']}  {details['state']}")
    say.out(f"command: {say.line(shlex.join(details['command'] or ()))}")
    say.out(f"exit code: {details['exit_code']}, {took}")
    if details["why"]:
        say.out(f"why: {say.line(details['why'])}")
    for name in ("prompt", "answer", "errors"):
        say.out(f"\n{name}:")
        if details[name]:
            say.out(say.quote(details[name].rstrip("\n")))
