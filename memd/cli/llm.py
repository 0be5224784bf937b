"""The language model on the terminal: who it is, what it is used for, what it has cost."""

from __future__ import annotations

from typing import Any

from memd.cli import options, say
from memd.cli.reach import ask
from memd.cli.tables import table, text_column, word


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
