"""Convert graph rows to statements and paths, and render them as lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from memd.base.clock import from_us
from memd.base.errors import OrgMemoryQueryError
from memd.domain.enums import Trust
from memd.domain.org.graph import Evidence, GraphPath, Statement, fold_name
from memd.org.graph_question import OTHER
from memd.org.graph_search import least_trust, things_along
from memd.store.file.connect import Reading
from memd.store.org import graph
from memd.store.org.as_of import StatementSpanRow
from memd.store.org.graph import Edge, StatementRow
from memd.text.words import ENGLISH_FUNCTION_WORDS, WORD

if TYPE_CHECKING:
    from memd.org.graph_question import Mention, QuestionWord
    from memd.org.graph_search import ReachedThing

# Separators of triples, line ends, control characters, and the markup that the parser interprets.
_UNSAFE = re.compile(r"[|\n\r\x00-\x1f\x7f\u2028\u2029]|->|-->|\[\[|\]\]|`")
_RELATION = re.compile(r"[^\W\d_][\w -]{0,63}")
NAME_CHARS_MAX = 80
"""Characters of each part of a triple."""


def to_statements(conn: Reading, edges: Iterable[Edge]) -> tuple[Statement, ...]:
    """Return *edges* as statements, in order, without those whose statement is gone."""
    edges = list(edges)
    rows = graph.read_statements(conn, [edge.statement_key for edge in edges])
    return tuple(
        to_statement(rows[edge.statement_key]) for edge in edges if edge.statement_key in rows
    )


def to_statement(row: StatementRow) -> Statement:
    """Return a row as a statement, with its evidence."""
    evidence = Evidence(
        fact_id=row.fact_id,
        version=row.version,
        memory_id=row.memory_id,
        quote=row.quote,
        trust=Trust(row.trust),
    )
    return build_statement(row, evidence)


def build_statement(row: StatementRow | StatementSpanRow, evidence: Evidence) -> Statement:
    """Return a row as a statement with *evidence*."""
    return Statement(
        id=row.statement_id,
        subject=row.subject,
        relation=row.relation,
        object=row.object,
        negated=bool(row.negated),
        qualifier=row.qualifier,
        valid_from=from_us(row.valid_from_us),
        valid_to=from_us(row.valid_to_us),
        known_from=from_us(row.known_from_us),
        known_to=from_us(row.known_to_us),
        evidence=evidence,
    )


def to_paths(conn: Reading, things: Iterable[ReachedThing]) -> dict[ReachedThing, GraphPath]:
    """Return the paths to *things*, in order; a path with a step without evidence is left out."""
    things = list(things)
    rows = graph.read_statements(conn, _statement_keys(things))
    keys_along = {thing: things_along(thing.path, thing.start) for thing in things}
    names = graph.names_of(conn, {key for keys in keys_along.values() for key in keys})
    return {
        thing: GraphPath(
            steps=tuple(to_statement(rows[edge.statement_key]) for edge in thing.path),
            things=tuple(names[key] for key in keys_along[thing]),
            trust=Trust(least_trust(thing.path)),
        )
        for thing in things
        if all(rows[edge.statement_key].quote.strip() for edge in thing.path)
    }


def _statement_keys(things: Iterable[ReachedThing]) -> list[int]:
    return [edge.statement_key for thing in things for edge in thing.path]


def rank_by_words(
    conn: Reading,
    things: Sequence[ReachedThing],
    words: Sequence[QuestionWord],
    mentions: Sequence[Mention],
    relations: Collection[str],
) -> list[tuple[float, ReachedThing]]:
    """Return *things* with scores from 0 to 1, best first.

    The score combines the overlap of the evidence with the question's words, whether the last edge
    is one of *relations* (those that the question asks for), the length of the path, and its trust.
    """
    covered = {place for mention in mentions for place in range(mention.first, mention.last + 1)}
    question_words = {
        word.text
        for place, word in enumerate(words)
        if place not in covered and word.text not in ENGLISH_FUNCTION_WORDS
    }
    rows = graph.read_statements(conn, _statement_keys(things))
    scored: list[tuple[float, ReachedThing]] = []
    for thing in things:
        quotes = " ".join(rows[edge.statement_key].quote for edge in thing.path).casefold()
        shared = question_words.intersection(WORD.findall(quotes))
        overlap = len(shared) / max(1, len(question_words))
        by_relation = 1.0 if thing.path[-1].relation in relations else 0.0
        score = 0.4 * overlap + 0.25 * by_relation + 0.25 / len(thing.path) + 0.1 * thing.trust / 2
        scored.append((round(score, 6), thing))
    scored.sort(key=lambda pair: (-pair[0], len(pair[1].path), pair[1].key))
    return scored


def render_path(path: GraphPath) -> str:
    """Return a path as one line: its steps, their evidence, and a warning if it is untrusted."""
    steps = "; ".join(render_step(step) for step in path.steps)
    quotes = " / ".join(" ".join(step.evidence.quote.split()) for step in path.steps)
    doubt = "" if path.trust is not Trust.UNTRUSTED else " (rests on an untrusted source)"
    return f"{steps} [{quotes}]{doubt}"


def render_step(step: Statement) -> str:
    """Return one statement as text, such as ``Ann —leads→ Search (for Europe)``.

    In a statement of *related_to*, the qualifier is the name of a relation that memd does not know.
    """
    is_unknown = step.relation == OTHER
    relation, purpose = step.relation.replace("_", " "), ""
    if step.qualifier:
        relation = step.qualifier if is_unknown else relation
        purpose = "" if is_unknown else f" (for {step.qualifier})"
    negation = "not " if step.negated else ""
    return f"{step.subject} —{negation}{relation}→ {step.object}{purpose}"


def render_triple(subject: str, relation: str, object_: str) -> str:
    """Return the text of a triple: ``Ann | leads | Search``.

    A relation that memd does not know is written with arrows, ``Ann -> mentors -> Bob``: between
    bars, the parser ignores it, because any row of a table looks like that.

    Raises OrgMemoryQueryError for parts that would not be parsed back unchanged, and for two names
    of the same thing.
    """
    for field, part in (("subject", subject), ("relation", relation), ("object", object_)):
        if _UNSAFE.search(part) or not part.strip() or len(part.strip()) > NAME_CHARS_MAX:
            raise OrgMemoryQueryError(
                f"the {field} must be a plain name of at most {NAME_CHARS_MAX} characters",
                field=field,
                hint='without "|", arrows, brackets, backticks and line ends',
            )
    from memd.extract.statements import extract_statements
    from memd.extract.verbs import parse_relation as known_relation

    if not _RELATION.fullmatch(relation.strip()):
        raise OrgMemoryQueryError(
            "the relation must be words", field="relation", hint='such as "leads" or "works on"'
        )
    if not fold_name(subject) or fold_name(subject) == fold_name(object_):
        raise OrgMemoryQueryError("a triple is about two different things", field="object")
    separator = "|" if known_relation(relation) else "->"
    text = f"{subject.strip()} {separator} {relation.strip()} {separator} {object_.strip()}"
    if len(extract_statements(text)) != 1:
        raise OrgMemoryQueryError(
            "the triple would not be parsed back unchanged", hint="use plain names on both sides"
        )
    return text
