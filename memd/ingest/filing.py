"""Where a text on its way in belongs: its agent, client, session, project, and its place there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.encoding import ModelFingerprint
from memd.domain.enums import MemoryLevel, Passing
from memd.domain.ingest import IngestRequest
from memd.domain.trust import STREAMS, TALKS, Screened
from memd.guard.secrets import screen_name
from memd.ingest.draft import Draft, Drafts
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.search import vectors


@dataclass(frozen=True, slots=True)
class Arrival:
    """One text on its way in. *vectors* None: still to come; *gated* False: stored as it is."""

    request: IngestRequest
    drafts: Drafts
    level: MemoryLevel
    vectors: Sequence[bytes] | None = None
    voice: bytes | None = None
    """The vector of the speaker's name alone, when there is a speaker and a model."""
    batch: str | None = None
    gated: bool = True
    model: ModelFingerprint | None = None
    """Whose vectors they are: those of another model than the store's are made anew later."""
    distilled: bool = False
    """Taken from a session's messages: not gated, but what the session knows is not told again."""
    source_key: int | None = None
    """The source row that the text was taken from, when it is there already."""

    stays: bool = False
    """Everybody's: no end of a task is its own."""

    def made_of(self, source: Screened | None) -> Arrival:
        """Return the arrival with the text that it was made of, if one is given."""
        return self if source is None else replace(self, drafts=replace(self.drafts, source=source))

    @property
    def deliberate(self) -> bool:
        """Whether it was handed over on purpose."""
        return not self.gated or self.distilled or self.request.deliberate

    @property
    def judged(self) -> bool:
        """Whether the gate of importance may turn its chunks away: only a stream's."""
        return not self.deliberate and self.drafts.origin in STREAMS

    def judges(self, draft: Draft) -> bool:
        """Whether the gate may turn *draft* away; what is kept apart is not judged."""
        return self.judged and self.passing(draft) is None

    def passing(self, draft: Draft) -> Passing | None:
        """Return what a chunk does that is kept apart: it states nothing, in a conversation."""
        return draft.passing if not self.deliberate and self.drafts.origin in TALKS else None


@dataclass(slots=True)
class Filing:
    """Where the arrival's rows belong."""

    agent_key: int
    client_key: int
    session_key: int | None
    project_key: int | None
    source_key: int | None
    ordinal: int | None
    model_key: int | None
    now_us: int
    ids: Ids
    known: bool
    """Whether the owner brings it, or a program to which he gave a key."""


@dataclass(slots=True)
class Filings:
    """Files the arrivals of one transaction: where a session is kept is asked once."""

    conn: Writing
    caller: Caller
    ids: Ids
    now_us: int
    places: dict[tuple[str | None, str | None], Filing] = field(default_factory=dict)

    def of(self, arrival: Arrival) -> Filing:
        named = (
            arrival.request.session_id or self.caller.session_id,
            arrival.request.project_id or self.caller.project_id,
        )
        place = self.places.get(named)
        if place is None:
            place = self.places[named] = self._place(*map(_name, named))
        ordinal = arrival.request.order
        if ordinal is None and place.session_key is not None:
            ordinal = names.next_ordinal(self.conn, place.session_key)
        return replace(
            place,
            source_key=arrival.source_key,
            ordinal=ordinal,
            model_key=_model(self.conn, arrival),
        )

    def _place(self, session_id: str | None, project_id: str | None) -> Filing:
        conn, now_us = self.conn, self.now_us
        agent_key = names.ensure_agent(conn, self.caller.agent_id, now_us)
        client_key = names.ensure_client(conn, self.caller.client, now_us)
        project_key = names.ensure_project(conn, project_id, now_us)
        session_key = names.ensure_session(
            conn,
            session_id,
            agent_key=agent_key,
            client_key=client_key,
            project_key=project_key,
            now_us=now_us,
        )
        return Filing(
            agent_key=agent_key,
            client_key=client_key,
            session_key=session_key,
            project_key=project_key,
            source_key=None,
            ordinal=None,
            model_key=None,
            now_us=now_us,
            ids=self.ids,
            known=self.caller.is_known,
        )


def _model(conn: Writing, arrival: Arrival) -> int | None:
    """Return the live model's key if it is the one that made the vectors of *arrival*."""
    live = None if arrival.vectors is None else vectors.current_cache(conn)
    if live is None or vectors.find_model(conn, str(arrival.model)) != live.model_key:
        return None
    return live.model_key


def _name(text: str | None) -> str | None:
    return None if text is None else screen_name(text)
