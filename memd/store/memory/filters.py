"""Translate a memory filter to SQL: one predicate for listing, counting and searching.

The predicate contains only the conditions that the filter sets, so that SQLite can use an index.
Every reader uses the same one, so that their filters cannot diverge (SPEC 7.10.6).
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
# A summary does not have the tags of its sources, but a listing by those tags returns it.
_LISTED_BY_TAG = f"""
(SELECT t.memory_key FROM {_TAGGED} AS t
  UNION ALL
 SELECT d.to_key FROM {_TAGGED} AS t
        JOIN behind AS b ON b.memory_key = t.memory_key
        JOIN derived AS d ON d.from_key = t.memory_key)
"""  # noqa: S608  # constants
# Earlier versions of memd made summaries of several sessions, which have no session of their own:
# a listing of any of these sessions returns them.
_LISTED_BY_SESSION = f"""
(SELECT o.memory_key FROM memory AS o WHERE o.session_key = {_SESSION}
  UNION ALL
 SELECT d.to_key FROM memory AS o
        JOIN behind AS b ON b.memory_key = o.memory_key
        JOIN derived AS d ON d.from_key = o.memory_key
        JOIN memory AS s ON s.memory_key = d.to_key AND s.session_key IS NULL
  WHERE o.session_key = {_SESSION})
"""  # noqa: S608  # constants

# Whether a superseded memory has a visible summary. Usually no summary of the agent is hidden (only
# the cap and a person hide one), so that the first condition saves a look-up for each row.
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


_CONDITIONS = {
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
}
"""The SQL of each condition, by the name of its parameter."""
_LISTING_CONDITIONS = _CONDITIONS | {
    "tags": f"m.memory_key IN {_LISTED_BY_TAG}",
    "session_id": f"m.memory_key IN {_LISTED_BY_SESSION.format(name='session_id')}",
}
"""The same for a listing, where a summary also has the tags and sessions of its sources."""
# A working memory without a session is visible in every session.
_UNBOUND = "m.level <> 'session' AND (m.category <> 'working' OR m.session_key IS NULL)"
_ACTIVE_CONDITIONS = {
    "active_project_id": (
        f"(m.level <> 'project' OR m.project_key = {_PROJECT.format(name='active_project_id')})"
    ),
    "active_session_id": (
        f"(({_UNBOUND}) OR m.session_key = {_SESSION.format(name='active_session_id')})"
    ),
}
"""The conditions that exclude memories of other projects and sessions."""


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """The conditions over ``memory AS m`` and their parameters.

    - *condition* is the filter itself; it matches rows in every state.
    - *listing* is the filter of a listing: a summary also matches by the tags and sessions of its
      sources.
    - *where* is *listing*, limited to visible states and to memories that have not expired.
    - *is_selective* tells whether the filter may exclude a row of the agent for another reason
      than its state.
    - *splits_summaries* tells whether a summary may match although its sources do not.
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

    With *active*, memories of level session or project that belong to another session or project
    are excluded, and working memories of another session (SPEC 7.13). *hidden* includes compressed
    and archived memories, *only_hidden* returns only those. With neither, a summary also matches by
    the tags and sessions of its sources.
    """
    parameters = _parameters(filters)
    active_parameters: Parameters = {}
    if active is not None:
        ids = {"active_project_id": active.project_id, "active_session_id": active.session_id}
        active_parameters = {name: value for name, value in ids.items() if value is not None}
    levels = [_ACTIVE_CONDITIONS[name] for name in active_parameters]
    condition, listing = (
        " AND ".join(["m.agent_key = :agent_key", *(table[name] for name in parameters), *levels])
        for table in (_CONDITIONS, _CONDITIONS if hidden or only_hidden else _LISTING_CONDITIONS)
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
            **parameters,
            **active_parameters,
        },
        is_selective=bool(parameters),
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
    """Return *filters* for a search, which compares the sources of a summary in its place.

    The search then returns the visible summary of a source that matches. Where the filter may keep
    a summary but not its sources, the summary is searched as well, under every tag and session that
    it is listed for: a search finds each row that a listing returns. With *hidden*, all hidden
    memories are searched and returned themselves, and no summary.

    Set *indexed* for keys that come from the parts of an index that a search reads: these parts
    already leave out summaries and memories hidden on their own, so the conditions do not.
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
    """Return *filters* without turns in passing."""
    return replace(
        filters,
        condition=f"{filters.condition} AND {_STATING}",
        listing=f"{filters.listing} AND {_STATING}",
        where=f"{filters.where} AND {_STATING}",
    )


def without_project(filters: BoundFilter) -> BoundFilter:
    """Return *filters* for memories of no project."""
    return replace(filters, where=f"{filters.where} AND m.project_key IS NULL")


def by_other_publishers(filters: BoundFilter, publisher_key: int) -> BoundFilter:
    """Return *filters* without shared memories that *publisher_key* published (SPEC 10.1.2)."""
    return _without(filters, publisher_key, _PUBLISHED.format(memory="TRUE"))


def without_own_copies(filters: BoundFilter, publisher_key: int) -> BoundFilter:
    """Return *filters* without what *publisher_key* published and has as a visible memory, too."""
    return _without(filters, publisher_key, _PUBLISHED.format(memory=_HAS_ORIGINAL))


_PUBLISHED = """
EXISTS (SELECT 1
          FROM shared AS h
         WHERE h.memory_key = m.memory_key AND h.publisher_key = :publisher_key AND {memory})
"""
_HAS_ORIGINAL = """
EXISTS (SELECT 1
          FROM memory AS o
         WHERE o.agent_key = h.publisher_key AND o.content_hash = m.content_hash
           AND o.level = m.level AND o.project_key IS m.project_key
           AND o.state IN ('active', 'pending')
           AND (o.expires_at_us IS NULL OR o.expires_at_us > :now_us))
"""


def _without(filters: BoundFilter, publisher_key: int, condition: str) -> BoundFilter:
    return replace(
        filters,
        condition=f"{filters.condition} AND NOT {condition}",
        listing=f"{filters.listing} AND NOT {condition}",
        where=f"{filters.where} AND NOT {condition}",
        params={**filters.params, "publisher_key": publisher_key},
        is_selective=True,
    )


def _parameters(filters: MemoryFilter) -> Parameters:
    """Return the parameters of the conditions that are set; an empty set is not (SPEC 7.5)."""
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
    parameters: Parameters = {
        **{name: json.dumps(sorted(values)) for name, values in sets if values},
        **{name: to_us(moment) for name, moment in times if moment is not None},
    }
    if filters.tags:
        parameters["tags"] = json.dumps(filters.tags)
    references = {"session_id": filters.session_id, "project_id": filters.project_id}
    return parameters | {name: value for name, value in references.items() if value is not None}
