"""``memd graph``: show relations of an entity and paths between entities, answer questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.times import parse_time

AsOf = Annotated[str | None, "--as-of TIME", "Time of validity, such as 2026-03-01."]
KnownAt = Annotated[str | None, "--known-at TIME", "Time of memd's knowledge; default: now."]


@options.examples("memd graph neighbours Litestar", 'memd graph neighbours "data team" --json')
def neighbours(
    name: Annotated[str, "NAME", "Name of the entity, as in texts."],
    limit: options.Limit = 50,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    agent: options.Agent = None,
) -> None:
    """List the relations of an entity, with their evidence."""
    params = _time_params(as_of, known_at, agent)
    answer = call("graph.neighbours", **params, name=name, limit=limit)
    if console.print_if_json(answer):
        return
    for step in answer["items"]:
        console.out(console.mark_line(_arrow(step)))
        console.out(_evidence(step))
    _report_truncated(answer)


@options.examples(
    "memd graph path Litestar Django", 'memd graph path Ann "the data team" --hops 3 --json'
)
def path(
    source: Annotated[str, "FROM", "First entity."],
    target: Annotated[str, "TO", "Last entity."],
    hops: Annotated[int, "--hops N", "Maximum length of a path, up to 6."] = 4,
    limit: options.Limit = 5,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    agent: options.Agent = None,
) -> None:
    """Show the shortest paths between two entities."""
    params = _time_params(as_of, known_at, agent)
    answer = call("graph.path", source=source, target=target, hops=hops, limit=limit, **params)
    if console.print_if_json(answer):
        return
    for number, route in enumerate(answer["items"], 1):
        _show(number, route)
    if not answer["items"]:
        console.note(f"no path of at most {hops} hops")
    _report_truncated(answer)


@options.examples(
    'memd graph query "what may the data team use instead of Litestar?"',
    'memd graph query "who leads the team that uses Kafka?" --json',
    'memd graph query "what is the standard?" --as-of 2026-03-01',
)
def query(
    question: Annotated[str, "QUESTION", "The question, in plain words."],
    limit: options.Limit = 5,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    agent: options.Agent = None,
) -> None:
    """Answer a question from the relations of its entities.

    Shows the path to each answer. Results that are only near, by other relations than those of the
    question, are marked.
    """
    params = _time_params(as_of, known_at, agent)
    answer = call("graph.query", **params, question=question, limit=limit)
    if console.print_if_json(answer):
        return
    for item in answer["items"]:
        near = "" if item["follows"] else console.dim("  (near)")
        console.out(f"{console.mark_line(console.bold(console.line(item['name'])))}{near}")
        _steps(item["path"])
    if not answer["about"]:
        console.note("the question names no known entity; try: memd search")
    elif not answer["items"]:
        console.note("no relation leads to an answer")
    _report_truncated(answer)


@options.examples('memd graph add Ann leads "the data team"', "memd graph add api depends_on redis")
def add(
    subject: Annotated[str, "SUBJECT", "First entity."],
    relation: Annotated[str, "RELATION", "Relation, such as uses or leads."],
    other: Annotated[str, "OBJECT", "Second entity."],
    agent: options.Agent = None,
) -> None:
    """Add a relation. It is stored as a memory of yours, which is its evidence."""
    done = call("graph.add", subject=subject, relation=relation, object=other, agent_id=agent)
    console.answer(done, done["memory_id"])


def _time_params(as_of: str | None, known_at: str | None, agent: str | None) -> dict[str, Any]:
    return {
        "as_of": parse_time("--as-of", as_of),
        "known_at": parse_time("--known-at", known_at),
        "agent_id": agent,
    }


def _show(number: int, route: dict[str, Any]) -> None:
    console.out(f"{number}. {' · '.join(console.line(name) for name in route['things'])}")
    _steps(route)


def _steps(route: dict[str, Any]) -> None:
    """Print the statements along a path, each with its evidence."""
    for step in route["steps"]:
        console.out(f"   {_arrow(step)}")
        console.out(f"   {_evidence(step)}")


def _arrow(step: dict[str, Any]) -> str:
    """Format a statement as one line.

    >>> _arrow({"subject": "a", "relation": "uses", "object": "b", "negated": True,
    ...         "qualifier": "admin"})
    'a —not uses→ b (for admin)'
    """
    # A relation that memd does not know is stored as related_to, with its name as the qualifier.
    is_unknown = step["relation"] == "related_to" and step["qualifier"]
    relation = step["qualifier"] if is_unknown else step["relation"].replace("_", " ")
    negation = "not " if step["negated"] else ""
    scope = f" (for {step['qualifier']})" if step["qualifier"] and not is_unknown else ""
    return console.line(f"{step['subject']} —{negation}{relation}→ {step['object']}{scope}")


def _evidence(step: dict[str, Any]) -> str:
    """Format the source of a statement: quote, fact or memory, trust and validity."""
    evidence = step["evidence"]
    if evidence["fact_id"]:
        where = f"fact {evidence['fact_id']} version {evidence['version']}"
    else:
        where = f"memory {evidence['memory_id']}"
    doubt = ", untrusted" if evidence["trust"] == 0 else ""
    spans = "".join(_times(step))
    quote = console.line(evidence["quote"], max(20, console.width() - 60))
    return console.dim(f'  "{quote}" ({where}{doubt}{spans})')


def _times(step: dict[str, Any]) -> Iterable[str]:
    if step["valid_from"]:
        yield f", from {console.local_time(step['valid_from'])}"
    if step["valid_to"]:
        yield f", until {console.local_time(step['valid_to'])}"


def _report_truncated(answer: dict[str, Any]) -> None:
    if answer["truncated"]:
        console.note("incomplete: the search reached its limit")
