"""The language model on the terminal: who it is, what it is used for, what it has cost."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from memd.base.errors import NotFoundError
from memd.base.paths import Paths
from memd.cli import options, say
from memd.cli.reach import ask
from memd.cli.tables import table, text_column, time, word
from memd.llm import job_files


@options.examples("memd llm status", "memd llm status --json")
def status(profile: options.Profile = None, json: options.Json = False) -> None:
    """Say which language model is used for what, and what it has cost."""
    told: dict[str, Any] = ask(profile, "llm.status")
    if json:
        say.as_json(told)
        return
    if told["provider"] == "none":
        say.out("no language model: everything is done by rule")
        say.note("docs/llm.md says how to set one")
        return
    where = f" at {say.line(told['where'])}" if told["where"] else ""
    say.out(f"{told['provider']}: {say.line(told['model'] or '-')}{where}")
    if told["why_not"]:
        say.out(f"left alone: {say.line(told['why_not'])}, until {told['retry_at'] or '-'}")
    if told["last_error"]:
        say.out(f"last error: {say.line(told['last_error'])}")
    spent, most = told["night_tokens_spent"], told["night_tokens"]
    say.out(f"tokens of naps and nights in 24 hours: {spent} of {most}")
    rows = [_row(each) for each in told["purposes"]]
    columns = (
        word("PURPOSE", whole=True),
        word("BY"),
        word("ASKED"),
        word("FAILED"),
        word("TOKENS"),
        text_column("WHY"),
    )
    table(columns, rows)


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    by = "model" if each["uses_model"] else "rule"
    spent = each["input_tokens"] + each["output_tokens"]
    counts = (str(each[name]) for name in ("completions", "failures"))
    return (each["purpose"], by, *counts, str(spent), each["why_not"] or "")


@options.examples("memd llm jobs", "memd llm jobs 20261123T125503 --json")
def jobs(
    job: Annotated[
        str | None,
        options.Argument(metavar="[ID]", help="Show this one, with what was sent and answered."),
    ] = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Say what was sent to the command of llm.command, the newest first; no daemon is needed."""
    folder = Paths.resolve(profile).located().jobs_dir
    if job is None:
        _list(job_files.jobs_in(folder), json=json)
        return
    found = job_files.job_in(folder, job)
    if found is None:
        raise NotFoundError(f"no job, or several: {job}", hint="memd llm jobs lists them")
    if json:
        say.as_json(found)
    else:
        _show(found)


def _list(found: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        say.as_json({"items": found})
        return
    rows = [
        (
            each["id"],
            each["began_at"] or "",
            each["purpose"] or "-",
            each["state"],
            f"{each['prompt_bytes']}/{each['answer_bytes']}",
            each["why"] or "",
        )
        for each in found
    ]
    columns = (
        word("ID", whole=True),
        time("WHEN"),
        word("PURPOSE", whole=True),
        word("STATE", whole=True),
        word("SENT/CAME"),
        text_column("WHY"),
    )
    table(columns, rows)
    if not found:
        say.note("nothing was sent to a command, or it was forgotten")


def _show(found: dict[str, Any]) -> None:
    took = "-" if found["duration_ms"] is None else f"{found['duration_ms']} ms"
    say.out(f"{found['id']}  {found['purpose']}  {found['state']}")
    say.out(f"command: {say.line(shlex.join(found['command'] or ()))}")
    say.out(f"exit code: {found['exit_code']}, {took}")
    if found["why"]:
        say.out(f"why: {say.line(found['why'])}")
    for name in ("prompt", "answer", "errors"):
        say.out(f"\n{name}:")
        if found[name]:
            say.out(say.quoted(found[name].rstrip("\n")))
