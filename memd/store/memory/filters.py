"""A memory filter as SQL: one predicate for listing, counting and both retrievers of a search.

The predicate contains only the conditions that were given, so that SQLite can use the index of
each. Every reader uses the same one, so that their filters cannot diverge (SPEC 7.10.6).
"""

from __future__ import annotations

import json
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
"""A working memory that ends has level session, whatever the stored level (SPEC 7.13)."""
_TAGGED = """
(SELECT memory_key FROM memory_tag
  WHERE tag IN (SELECT value FROM json_each(:tags))
  GROUP BY memory_key HAVING count(*) = :tag_count)
"""
# A summary does not have its sources' tags, but a listing by them returns it.
_LISTED_BY_TAG = f"""
(SELECT t.memory_key FROM {_TAGGED} AS t
  UNION ALL
 SELECT d.to_key FROM {_TAGGED} AS t
        JOIN behind AS b ON b.memory_key = t.memory_key
        JOIN derived AS d ON d.from_key = t.memory_key)
"""  # noqa: S608  # constants
# A summary of several sessions, which nights once made, belongs to none; a listing of each has it.
_LISTED_BY_SESSION = f"""
(SELECT o.memory_key FROM memory AS o WHERE o.session_key = {_SESSION}
  UNION ALL
 SELECT d.to_key FROM memory AS o
        JOIN behind AS b ON b.memory_key = o.memory_key
        JOIN derived AS d ON d.from_key = o.memory_key
        JOIN memory AS s ON s.memory_key = d.to_key AND s.session_key IS NULL
  WHERE o.session_key = {_SESSION})
"""  # noqa: S608  # constants

# Whether a superseded memory has a visible summary. Only the cap and a person hide summaries, so
# mostly no summary is hidden and no row has to be looked up.
_HAS_VISIBLE_SUMMARY = """
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
_IS_SOURCE = "EXISTS (SELECT 1 FROM behind AS b WHERE b.memory_key = m.memory_key)"
_EVENT = "coalesce(m.occurred_at_us, m.created_at_us)"


_GIVEN = {
    "namespaces": "m.namespace IN (SELECT value FROM json_each(:namespaces))",
    "categories": "m.category IN (SELECT value FROM json_each(:categories))",
    "levels": f"{LEVEL} IN (SELECT value FROM json_each(:levels))",  # noqa: S608  # a constant
    "since_us": "m.created_at_us >= :since_us",
    "until_us": "m.created_at_us < :until_us",
    "occurred_since_us": f"{_EVENT} >= :occurred_since_us",
    "occurred_until_us": f"{_EVENT} < :occurred_until_us",
    "tags": f"m.memory_key IN {_TAGGED}",
    "session_id": f"m.session_key = {_SESSION.format(name='session_id')}",
    "project_id": f"m.project_key = {_PROJECT.format(name='project_id')}",
}  # constants
"""Each condition, by the name of its parameter."""
_LISTED = _GIVEN | {
    "tags": f"m.memory_key IN {_LISTED_BY_TAG}",
    "session_id": f"m.memory_key IN {_LISTED_BY_SESSION.format(name='session_id')}",
}
"""The same for a listing: a summary has the tags and sessions of its sources, too."""
# A working memory of no session belongs to no other session either.
_UNBOUND = "m.level <> 'session' AND (m.category <> 'working' OR m.session_key IS NULL)"
_ACTIVE = {
    "active_project_id": (
        f"(m.level <> 'project' OR m.project_key = {_PROJECT.format(name='active_project_id')})"
    ),
    "active_session_id": (
        f"(({_UNBOUND}) OR m.session_key = {_SESSION.format(name='active_session_id')})"
    ),
}
"""What excludes memories of other projects and sessions."""


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """The conditions over ``memory AS m`` and their parameters.

    *condition* is the filter itself, in whatever state a row is. *listing* is the filter of a
    listing: a summary also matches by the tags and sessions of its sources. *where* adds to it the
    visible states and the expiry. *is_selective* is set when the filter may exclude a row of the
    agent for another reason than its state, *splits_summaries* when a summary may match although
    its sources do not.
    """

    agent_key: int
    now_us: int
    condition: str
    listing: str
    where: str
    params: Parameters
    is_selective: bool
    splits_summaries: bool
    active_project_id: str | None


def bind(
    agent_key: int,
    filters: MemoryFilter,
    now_us: int,
    *,
    hidden: bool = False,
    only_hidden: bool = False,
    active: Caller | None = None,
) -> BoundFilter:
    """Return *filters* as SQL.

    The session and project of *active* exclude memories of level session or project that belong to
    another one, and working ones of another session (SPEC 7.13); without them none is excluded.
    *hidden* includes compressed and archived memories, *only_hidden* returns only those. With
    neither, a summary also matches by the tags and sessions of its sources.
    """
    given = _parameters(filters)
    of_active: Parameters = {}
    if active is not None:
        ids = {"active_project_id": active.project_id, "active_session_id": active.session_id}
        of_active = {name: value for name, value in ids.items() if value is not None}
    levels = [_ACTIVE[name] for name in of_active]
    condition, listing = (
        " AND ".join(["m.agent_key = :agent_key", *(table[name] for name in given), *levels])
        for table in (_GIVEN, _GIVEN if hidden or only_hidden else _LISTED)
    )
    states = "'compressed', 'archived'" if only_hidden else "'active', 'pending'"
    if hidden and not only_hidden:
        states += ", 'compressed', 'archived'"
    is_visible = (
        f" AND m.state IN ({states}) AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)"
    )
    return BoundFilter(
        agent_key=agent_key,
        now_us=now_us,
        condition=condition,
        listing=listing,
        where=listing + is_visible,
        params={
            "agent_key": agent_key,
            "now_us": now_us,
            "tag_count": len(filters.tags),
            **given,
            **of_active,
        },
        is_selective=bool(given),
        splits_summaries=bool(
            filters.categories
            or filters.tags
            or filters.since
            or filters.until
            or filters.occurred_since
            or filters.occurred_until
        ),
        active_project_id=None if active is None else active.project_id,
    )


def bind_search(filters: BoundFilter, *, hidden: bool, indexed: bool = False) -> BoundFilter:
    """Return *filters* for a search: the memories themselves, not the summaries made from them.

    The sources of a visible summary are searched in its place, with everything known of them; the
    search then returns the summary. Where the filter may keep a summary but not its sources, the
    summary is searched as well, under every tag and session it is listed for: a search finds each
    row that a listing returns. With *hidden* all hidden memories are searched and returned as they
    are, and no summary.

    *indexed* is for keys from the parts of the indexes that contain what is searched: these
    separate summaries and memories hidden on their own, which need not be checked again.
    """
    condition = filters.condition
    if not hidden and filters.listing != condition:
        condition = f"{filters.listing} AND (m.is_summary OR ({condition}))"
    if not indexed and (hidden or not filters.splits_summaries):
        condition += " AND NOT m.is_summary"
    archived = "m.state IN ('compressed', 'archived')"
    if not hidden:
        archived = f"{archived if indexed else _IS_SOURCE} AND {_HAS_VISIBLE_SUMMARY}"
    where = f"""
        {condition}
        AND (m.state IN ('active', 'pending') OR {archived})
        AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
    """
    return replace(filters, where=where)


def without_passing(filters: BoundFilter) -> BoundFilter:
    """Return *filters* without turns in passing, which state nothing."""
    return replace(
        filters,
        condition=f"{filters.condition} AND {_STATING}",
        listing=f"{filters.listing} AND {_STATING}",
        where=f"{filters.where} AND {_STATING}",
    )


def of_no_project(filters: BoundFilter) -> BoundFilter:
    """Return *filters* for memories of no project."""
    return replace(filters, where=f"{filters.where} AND m.project_key IS NULL")


def by_other_publishers(filters: BoundFilter, publisher_key: int) -> BoundFilter:
    """Return *filters* without shared memories that *publisher_key* published (SPEC 10.1.2)."""
    mine = """
        EXISTS (SELECT 1
                  FROM shared AS h
                 WHERE h.memory_key = m.memory_key AND h.publisher_key = :publisher_key)
    """
    return replace(
        filters,
        condition=f"{filters.condition} AND NOT {mine}",
        listing=f"{filters.listing} AND NOT {mine}",
        where=f"{filters.where} AND NOT {mine}",
        params={**filters.params, "publisher_key": publisher_key},
        is_selective=True,
    )


def _parameters(filters: MemoryFilter) -> Parameters:
    """Return the parameter of each condition that was given; an empty set is none (SPEC 7.5)."""
    sets = (
        ("namespaces", filters.namespaces),
        ("categories", filters.categories),
        ("levels", filters.levels),
    )
    times = (
        ("since_us", filters.since),
        ("until_us", filters.until),
        ("occurred_since_us", filters.occurred_since),
        ("occurred_until_us", filters.occurred_until),
    )
    given: Parameters = {
        **{
            name: json.dumps(sorted(each))
            for name, each in (*sets, ("levels", filters.levels))
            if each
        },
        **{name: to_us(moment) for name, moment in times if moment is not None},
    }
    if filters.tags:
        given["tags"] = json.dumps(filters.tags)
    references = {"session_id": filters.session_id, "project_id": filters.project_id}
    return given | {name: value for name, value in references.items() if value is not None}
