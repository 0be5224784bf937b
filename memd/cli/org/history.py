"""``memd org as-of``, ``timeline`` and ``changes``: facts by their validity and in time."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from memd.base.clock import SystemClock, to_us
from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.org.org import (
    Kinds,
    categories_of,
    format_author,
    format_change,
    format_validity,
    format_version_author,
)
from memd.cli.tables import (
    id_column,
    print_items,
    report_next,
    table,
    text_column,
    time_column,
    word_column,
)
from memd.cli.times import is_time, parse_event_time, parse_time
from memd.view.timeline import TEXT_BAR_CHARS, Bar, as_svg, as_text, axis


@options.examples(
    "memd org as-of --valid 2026-02 --about Flask",
    "memd org as-of --valid 2026-02-01 --known 2026-03-01T12:00:00Z",
    'memd org as-of "framework" -c convention --json',
)
def as_of(
    text: Annotated[str | None, "[TEXT]", "Only facts that contain this text."] = None,
    valid: Annotated[
        str | None, "--valid TIME", "Time at which facts were valid; default: now."
    ] = None,
    known: Annotated[str | None, "--known TIME", "Time of memd's knowledge; default: now."] = None,
    about: Annotated[str | None, "--about NAME", "Only facts about NAME."] = None,
    category: Kinds = None,
    limit: options.PageLimit = 20,
    after: options.After = None,
) -> None:
    """List the facts that were valid at a time, as then known.

    Validity is what the texts state; knowledge is when memd learned it. A time is a day, a month
    (each means its beginning, in UTC), or a time with a zone. Of a text that names times, the
    statements that were valid then are printed.
    """
    if text is not None and valid is None and is_time(text):
        raise InvalidError(
            "TEXT is searched in the facts; a time of validity goes to --valid",
            hint=f"memd org as-of --valid {console.line(text)}",
        )
    answer = call(
        "org.as_of",
        text=text,
        valid=parse_time("--valid", valid),
        known=parse_time("--known", known),
        subject=about,
        categories=categories_of(category),
        limit=limit,
        after=after,
    )
    if console.print_if_json(answer):
        return
    columns = (
        id_column("FACT"),
        word_column("BY", lambda row: format_author(row["author"])),
        text_column("TEXT", "text"),
    )
    table(columns, (row for item in answer["items"] for row in _rows(item)))
    _report_withheld(answer)
    if not answer["items"]:
        console.note(_not_found(text) if after is None else "no more facts")
    report_next(answer)


@options.examples(
    "memd org timeline Flask",
    "memd org timeline Flask --svg flask.svg",
    "memd org timeline 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11 --json",
)
def timeline(
    name: Annotated[str, "NAME", "Name of an entity, or id of a fact."],
    svg: Annotated[Path | None, "--svg FILE", "Write an SVG file instead."] = None,
) -> None:
    """Show when statements about an entity or a fact were valid.

    Shows also who wrote each of them, and the versions of a fact.
    """
    answer = call("org.timeline", name=name)
    bars = [_version_bar(stretch) for stretch in answer["versions"]]
    bars += [_statement_bar(stretch) for stretch in answer["stretches"]]
    now_us = SystemClock().now_us()
    if svg is not None:
        try:
            svg.touch(mode=0o600)
            svg.write_text(as_svg(name, bars, now_us), encoding="utf-8")
        except OSError as error:
            raise InvalidError(
                f"{console.line(str(svg))} cannot be written: {error.strerror}", field="--svg"
            ) from None
        console.note(f"wrote {console.line(str(svg))}")
    if console.is_json():
        console.print_json(answer)
    elif svg is None:
        start, stop = axis(bars, now_us)
        columns = (
            word_column(f" {start:<{TEXT_BAR_CHARS - 10}}{stop}", itemgetter(0), whole=True),
            word_column("STATEMENT", itemgetter(1)),
            text_column("SOURCE", itemgetter(2), in_place=True),
        )
        table(columns, as_text(bars, now_us))
        _report_withheld(answer)
        if answer["truncated"]:
            following = options.command_line("org as-of", as_of, about=name, valid="TIME")
            console.note(f"there are more; those of one time: {following}")


@options.examples(
    "memd org changes",
    "memd org changes --since 2026-11-01",
    'memd org changes --since "3 days ago" --json',
)
def changes(
    since: Annotated[
        str, "--since TIME", 'From this time on: "last week", yesterday, March, 2026-03-31.'
    ] = "last week",
    limit: options.PageLimit = 20,
    after: options.After = None,
) -> None:
    """List what was written or retracted since a time, last first."""
    answer = call("org.changes", since=parse_event_time("--since", since), limit=limit, after=after)
    columns = (
        id_column("FACT", "fact_id"),
        time_column("WHEN", "timestamp"),
        word_column("VERSION", "version"),
        word_column("BY", format_version_author),
        text_column("WHAT", format_change),
        word_column("VALID", format_validity, whole=True),
    )
    print_items(answer, columns, nothing="nothing was written or retracted since then")


def _not_found(text: str | None) -> str:
    if text is None:
        return "no fact was valid then"
    return (
        f"no fact valid then contains {console.line(text)!r}; search by entity with --about, "
        "by words with memd org query"
    )


def _rows(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each statement with a time of its own, or one with the text of the fact."""
    statements = [
        _format_statement(statement)
        for statement in item["statements"]
        if statement["valid_from"] or statement["valid_to"]
    ]
    return [{**item["fact"], "text": text} for text in statements or [item["fact"]["content"]]]


def _format_statement(statement: dict[str, Any]) -> str:
    """Format a statement as one line.

    >>> _format_statement({"subject": "the team", "relation": "uses", "object": "Flask",
    ...        "negated": True, "qualifier": "admin", "valid_from": None, "valid_to": None})
    'the team uses not Flask (admin)'
    """
    relation = statement["relation"].replace("_", " ") + " not" * statement["negated"]
    text = f"{statement['subject']} {relation} {statement['object']}"
    return f"{text} ({statement['qualifier']})" if statement["qualifier"] else text


def _statement_bar(stretch: dict[str, Any]) -> Bar:
    """Return the bar of a statement with its validity and its authors."""
    statement = stretch["statement"]
    author = _by(stretch, "said")
    if stretch["ended_by"] is not None:
        author += f"; its end: {_by(stretch, 'ended')}"
    return _bar(_format_statement(statement), statement, author)


def _version_bar(stretch: dict[str, Any]) -> Bar:
    """Return the bar of a version of a fact with its validity and its author."""
    return _bar(f"version {stretch['version']}: {stretch['quote']}", stretch, _by(stretch, "said"))


def _bar(label: str, period: dict[str, Any], author: str) -> Bar:
    detail = f"{_day(period['valid_from'])} to {_day(period['valid_to'])}: {author}"
    if period["known_to"] is not None:
        detail += f"; believed until {_day(period['known_to'])}"
    return Bar(
        label,
        detail,
        _us(period["valid_from"]),
        _us(period["valid_to"]),
        is_retracted=period["known_to"] is not None,
    )


def _by(stretch: dict[str, Any], which: str) -> str:
    return f"{format_author(stretch[f'{which}_by'])}, {_day(stretch[f'{which}_at'])}"


def _day(time: str | None) -> str:
    return "..." if time is None else time[:10]


def _us(time: str | None) -> int | None:
    return None if time is None else to_us(datetime.fromisoformat(time))


def _report_withheld(answer: dict[str, Any]) -> None:
    if answer["withheld"]:
        console.note(f"not shown, for lack of permission: {', '.join(answer['withheld'])}")
