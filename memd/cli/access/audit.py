"""``memd audit``: show and verify the audit."""

from __future__ import annotations

from typing import Annotated, Any

from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, call, daemon
from memd.cli.tables import report_next, table, text_column, time_column, word_column

_HASH_CHARS = 64


@options.examples(
    "memd audit show",
    "memd audit show --outcome denied",
    "memd audit show --client claude -n 20 --json",
)
def show(
    client: Annotated[str | None, "--client NAME", "Only this client."] = None,
    method: Annotated[str | None, "--method NAME", "Only this method."] = None,
    outcome: Annotated[str | None, "--outcome WHAT", "Only done or only denied."] = None,
    limit: options.PageLimit = 50,
    after: Annotated[int | None, "--after SEQ", "Continue with rows older than SEQ."] = None,
) -> None:
    """List writes and refusals, newest first."""
    page: dict[str, Any] = call(
        "audit.show", client=client, method=method, outcome=outcome, limit=limit, after=after
    )
    if console.print_if_json(page):
        return
    columns = (
        word_column("SEQ", "seq"),
        time_column("WHEN", "at"),
        word_column("CLIENT", "client"),
        text_column("METHOD", "method", in_place=True),
        word_column("OUTCOME", _outcome),
        word_column("ROWS", "rows"),
    )
    table(columns, page["items"])
    report_next(page)


def _outcome(row: dict[str, Any]) -> str:
    return str(row["outcome"]) + (f" {row['attempts']} times" if row["attempts"] > 1 else "")


@options.examples("memd audit verify", 'memd audit verify --anchor "$(cat audit-head)" --json')
def verify(
    anchor: Annotated[
        list[str] | None,
        "--anchor SEQ:HASH",
        "A head that you recorded, such as this command prints, or the log; may be repeated.",
    ] = None,
) -> None:
    """Verify that no row of the audit was changed or removed.

    The end of the chain is compared with the heads that memd records outside the database:
    regularly, at each stop and with each backup. Rows that no head covers are reported as
    unproven. Exit code 1: a row was changed or removed.
    """
    anchors = [_anchor(text) for text in anchor or ()]
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        report: dict[str, Any] = client.call("audit.verify", {"anchors": anchors})
    if not console.print_if_json(report):
        agreeing = sum(head["agrees"] for head in report["anchors"])
        console.out(f"{'rows:':<12} {report['links']:,}")
        console.out(f"{'head:':<12} {report['links']}:{report['head']}")
        console.out(f"{'notes:':<12} {agreeing} of {len(report['anchors'])} agree")
        console.out(f"{'problems:':<12} {len(report['problems']) or 'none'}")
        for problem in report["problems"]:
            console.out(f"  {console.line(problem)}")
        for unproven in report["unproven"]:
            console.note(f"not proven: {unproven}")
    if not report["ok"]:
        raise console.CommandExit(console.Exit.ERROR)


def _anchor(text: str) -> dict[str, Any]:
    """Parse SEQ:HASH into an anchor: the hash of the chain after row SEQ.

    >>> _anchor("7:" + "0f" * 32)["seq"]
    7
    """
    seq, _, head = text.partition(":")
    if not seq.isdecimal() or len(head) != _HASH_CHARS:
        raise InvalidError(
            f"--anchor must be a number, a colon and {_HASH_CHARS} hex digits, not {text}",
            hint='memd audit verify and "audit head" in the log show it whole',
        )
    return {"seq": int(seq), "hash": head.lower()}
