"""What was, as callers are shown it: facts as they stood, and how long statements held."""

from __future__ import annotations

import json

from memd.base.clock import from_us
from memd.domain.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from memd.domain.graph import Evidence, Statement
from memd.domain.history import FactThen, Lasted
from memd.domain.org import OrgFact, OrgFactAuthor
from memd.org.shown import stated
from memd.store.org.past import StretchRow, ThenRow


def fact_then(row: ThenRow, said: list[StretchRow]) -> FactThen:
    """Return a fact as it stood, with what of it held."""
    return FactThen(
        fact=OrgFact(
            id=row.fact_id,
            content=row.content,
            category=OrgFactCategory(row.category),
            tags=json.loads(row.tags),
            author=_author(row.is_human, row.author_id, row.seniority, row.autonomy_level),
            created_at=from_us(row.created_at_us),
            version=row.version,
            valid_from=None if row.valid_from_us is None else from_us(row.valid_from_us),
            valid_to=None if row.valid_to_us is None else from_us(row.valid_to_us),
        ),
        operation_id=row.operation_id,
        written_at=from_us(row.at_us),
        statements=tuple(map(statement, said)),
    )


def statement(row: StretchRow) -> Statement:
    """Return a row with the words of the fact that say it."""
    return stated(row, Evidence(fact_id=row.fact_id, version=row.version, quote=row.quote))


def lasted(row: StretchRow) -> Lasted:
    """Return a stretch with who said it and who ended it."""
    ended = row.ended_at_us is not None
    return Lasted(
        statement=statement(row),
        category=OrgFactCategory(row.category),
        said_by=_author(row.is_human, row.author_id, row.seniority, row.autonomy_level),
        said_at=from_us(row.said_at_us),
        ended_by=_author(row.ended_human, row.ended_id, row.ended_seniority, row.ended_autonomy)
        if ended
        else None,
        ended_at=None if row.ended_at_us is None else from_us(row.ended_at_us),
    )


def _author(
    human: int | None, who: str | None, seniority: str | None, autonomy: str | None
) -> OrgFactAuthor:
    return OrgFactAuthor(
        is_human=bool(human),
        agent_id=who,
        seniority=SeniorityLevel(seniority) if seniority else None,
        autonomy_level=AutonomyLevel(autonomy) if autonomy else None,
    )
