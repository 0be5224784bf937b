"""A filter as SQL: one predicate for listing, counting and both arms of a search.

Only the conditions that were given stand in it, so that SQLite can use the
index each of them has, and every reader uses the same one, so that filters
cannot diverge (SPEC 7.10.6).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memd.base.clock import to_us
from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter

Parameters = dict[str, int | str | None]

_SESSION = "(SELECT session_key FROM session WHERE agent_key = :agent_key AND session_id = :{name})"
_PROJECT = "(SELECT project_key FROM project WHERE project_id = :{name})"
_STATING = "NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key)"
LEVEL = (
    "iif(m.category = 'working' AND (m.session_key IS NOT NULL OR m.expires_at_us IS NOT NULL),"
    " 'session', m.level)"
)
"""A working memory is its session's, whatever the agent's level (SPEC 7.13), if it ends."""
_TAGGED = """
(SELECT memory_key FROM memory_tag
  WHERE tag IN (SELECT value FROM json_each(:tags))
  GROUP BY memory_key HAVING count(*) = :tag_count)
"""
# A summary has no tags of its sources, but is shown for them.
_SHOWN_TAGGED = f"""
(SELECT t.memory_key FROM {_TAGGED} AS t
  UNION ALL
 SELECT d.to_key FROM {_TAGGED} AS t
        JOIN behind AS b ON b.memory_key = t.memory_key
        JOIN derived AS d ON d.from_key = t.memory_key)
"""  # noqa: S608  # constants
# A summary that is of several sessions belongs to none, but is shown for each of them.
_SHOWN_IN_SESSION = f"""
(SELECT o.memory_key FROM memory AS o WHERE o.session_key = {_SESSION}
  UNION ALL
 SELECT d.to_key FROM memory AS o
        JOIN behind AS b ON b.memory_key = o.memory_key
        JOIN derived AS d ON d.from_key = o.memory_key
        JOIN memory AS s ON s.memory_key = d.to_key AND s.session_key IS NULL
  WHERE o.session_key = {_SESSION})
"""  # noqa: S608  # constants

# Whether a visible summary stands before what was put behind one. Only the cap and a person put
# summaries away, so mostly there is none to be told from and no row has to be looked up.
_IN_FRONT = """
(NOT EXISTS (SELECT 1
               FROM memory AS a
              WHERE a.agent_key = :agent_key AND a.is_summary
                AND a.state IN ('compressed', 'archived'))
 OR EXISTS (SELECT 1
              FROM derived AS d
                   JOIN memory AS s ON s.memory_key = d.to_key
             WHERE d.from_key = m.memory_key AND s.is_summary
               AND s.state IN ('active', 'pending')))
"""
_BEHIND = f"EXISTS (SELECT 1 FROM behind AS b WHERE b.memory_key = m.memory_key) AND {_IN_FRONT}"  # noqa: S608  # constants


_EVENT = "coalesce(m.occurred_at_us, m.created_at_us)"


@dataclass(frozen=True, slots=True)
class Bound:
    """The conditions over ``memory AS m`` and their parameters.

    *meant* is what the filter itself says, whatever state a row is in; *shown* says
    it of what is shown for what stands behind it, too; *where* adds to that what may
    be seen: the states and the expiry. *narrow* says that some row
    of the agent may be left out for another reason than its state, *apart* that a
    summary may match where what it was made from does not.
    """

    agent_key: int
    now_us: int
    meant: str
    shown: str
    where: str
    params: Parameters
    narrow: bool
    apart: bool
    active_project_id: str | None


def bound(
    agent_key: int,
    filters: MemoryFilter,
    now_us: int,
    *,
    hidden: bool = False,
    only_hidden: bool = False,
    active: Caller | None = None,
) -> Bound:
    """Return *filters* as SQL.

    The session and project of *active* hide memories of level session or project
    that belong to another one, and working ones of another session (SPEC 7.13);
    without them none is hidden. *hidden*
    adds what is compressed or archived, *only_hidden* leaves the rest out. With
    neither, a summary is shown for the tags and the sessions of what stands behind it, too.
    """
    conditions = _conditions(filters) + _levels(active)
    params: Parameters = {"agent_key": agent_key, "now_us": now_us}
    for _, given in conditions:
        params |= given
    meant = _all(conditions)
    shown = meant
    if not hidden and not only_hidden:
        shown = _all(_conditions(filters, shown=True) + _levels(active))
    states = "'compressed', 'archived'" if only_hidden else "'active', 'pending'"
    if hidden and not only_hidden:
        states += ", 'compressed', 'archived'"
    seen = f" AND m.state IN ({states}) AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)"
    return Bound(
        agent_key=agent_key,
        now_us=now_us,
        meant=meant,
        shown=shown,
        where=shown + seen,
        params=params,
        narrow=bool(_conditions(filters)),
        apart=bool(
            filters.categories
            or filters.tags
            or filters.since
            or filters.until
            or filters.occurred_since
            or filters.occurred_until
        ),
        active_project_id=None if active is None else active.project_id,
    )


def evidence(condition: Bound, *, hidden: bool) -> Bound:
    """Return *condition* for a search: memories themselves, not the summaries made from them.

    What stands behind a visible summary is searched in its stead, with all that is
    known of it; the search then shows the summary. Where the filter may keep the
    summary and not what it was made from, it is searched itself, too, for all that it
    is shown for: a search finds each row that a listing shows. With *hidden*
    everything that was put away is searched and shown as it is, and no summary.
    """
    memories = "" if condition.apart and not hidden else "AND NOT m.is_summary"
    archived = "m.state IN ('compressed', 'archived')" if hidden else _BEHIND
    where = f"""
        {_evidence_condition(condition, hidden=hidden)} {memories}
        AND (m.state IN ('active', 'pending') OR {archived})
        AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
    """
    return replace(condition, where=where)


def stating(kept: Bound) -> Bound:
    """Return *kept* without the turns that state nothing."""
    return replace(
        kept,
        meant=f"{kept.meant} AND {_STATING}",
        shown=f"{kept.shown} AND {_STATING}",
        where=f"{kept.where} AND {_STATING}",
    )


def by_others(kept: Bound, publisher_key: int) -> Bound:
    """Return *kept*, of shared memories, without what *publisher_key* published (SPEC 10.1.2)."""
    mine = """
        EXISTS (SELECT 1
                  FROM shared AS h
                 WHERE h.memory_key = m.memory_key AND h.publisher_key = :publisher_key)
    """
    return replace(
        kept,
        meant=f"{kept.meant} AND NOT {mine}",
        shown=f"{kept.shown} AND NOT {mine}",
        where=f"{kept.where} AND NOT {mine}",
        params={**kept.params, "publisher_key": publisher_key},
        narrow=True,
    )


def cached_evidence(condition: Bound, *, hidden: bool) -> Bound:
    """Return :func:`evidence` for what was read from the parts of the caches that hold it.

    The parts say what is a summary and what was put away by itself; only whether a
    summary stands before the rest is left to ask, and the filter.
    """
    away = "m.state IN ('compressed', 'archived')"
    where = f"""
        {_evidence_condition(condition, hidden=hidden)}
        AND (m.state IN ('active', 'pending') OR {away if hidden else f"{away} AND {_IN_FRONT}"})
        AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
    """
    return replace(condition, where=where)


def _evidence_condition(condition: Bound, *, hidden: bool) -> str:
    """Return what the filter says of what a search reads: of a summary, for what it is shown."""
    if hidden or condition.shown == condition.meant:
        return condition.meant
    return f"{condition.shown} AND (m.is_summary OR ({condition.meant}))"


def _all(conditions: Sequence[tuple[str, Parameters]]) -> str:
    return " AND ".join(("m.agent_key = :agent_key", *(sql for sql, _ in conditions)))


def _conditions(filters: MemoryFilter, *, shown: bool = False) -> list[tuple[str, Parameters]]:
    """Return each condition that was given; an empty set is none (SPEC 7.5).

    With *shown* a summary has the tags and sessions of what it is shown for, too.
    """
    conditions: list[tuple[str, Parameters]] = []
    for name, column, values in (
        ("namespaces", "m.namespace", filters.namespaces),
        ("categories", "m.category", filters.categories),
        ("levels", LEVEL, filters.levels),
    ):
        if values:
            among = f"{column} IN (SELECT value FROM json_each(:{name}))"  # noqa: S608  # three names
            conditions.append((among, {name: json.dumps(sorted(values))}))
    if filters.since is not None:
        conditions.append(("m.created_at_us >= :since_us", {"since_us": to_us(filters.since)}))
    if filters.until is not None:
        conditions.append(("m.created_at_us < :until_us", {"until_us": to_us(filters.until)}))
    if filters.occurred_since is not None:
        low: Parameters = {"occurred_since_us": to_us(filters.occurred_since)}
        conditions.append((f"{_EVENT} >= :occurred_since_us", low))
    if filters.occurred_until is not None:
        high: Parameters = {"occurred_until_us": to_us(filters.occurred_until)}
        conditions.append((f"{_EVENT} < :occurred_until_us", high))
    return conditions + _marks(filters, shown=shown)


def _marks(filters: MemoryFilter, *, shown: bool) -> list[tuple[str, Parameters]]:
    """Return the conditions on tags, session and project."""
    conditions: list[tuple[str, Parameters]] = []
    if filters.tags:
        tags: Parameters = {"tags": json.dumps(filters.tags), "tag_count": len(filters.tags)}
        conditions.append((f"m.memory_key IN {_SHOWN_TAGGED if shown else _TAGGED}", tags))
    if filters.session_id is not None:
        of_session = f"m.session_key = {_SESSION}"
        if shown:
            of_session = f"m.memory_key IN {_SHOWN_IN_SESSION}"
        conditions.append(
            (of_session.format(name="session_id"), {"session_id": filters.session_id})
        )
    if filters.project_id is not None:
        of_project = f"m.project_key = {_PROJECT.format(name='project_id')}"
        conditions.append((of_project, {"project_id": filters.project_id}))
    return conditions


def _levels(active: Caller | None) -> list[tuple[str, Parameters]]:
    conditions: list[tuple[str, Parameters]] = []
    if active is not None and active.project_id is not None:
        mine = _PROJECT.format(name="active_project_id")
        level = f"(m.level <> 'project' OR m.project_key = {mine})"
        conditions.append((level, {"active_project_id": active.project_id}))
    if active is not None and active.session_id is not None:
        mine = _SESSION.format(name="active_session_id")
        # A working memory of no session is of nobody else's either.
        anybodys = "m.level <> 'session' AND (m.category <> 'working' OR m.session_key IS NULL)"
        level = f"(({anybodys}) OR m.session_key = {mine})"
        conditions.append((level, {"active_session_id": active.session_id}))
    return conditions
