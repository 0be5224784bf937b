"""Determine agent, client, session, project and order number of an incoming text, and its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memd.base import log
from memd.base.clock import to_us
from memd.base.errors import MemoryStoreError
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.encoding import Encoding, ModelFingerprint
from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Passing
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.sleep.consolidation import user_part
from memd.domain.trust import STREAMS, TALKS, Screened
from memd.domain.values import RESERVED_AGENT
from memd.guard.forget_requests import is_forget_request
from memd.guard.privacy import Privacy
from memd.guard.secrets import screen_name
from memd.ingest.draft import Draft, Drafts, is_assistant, turn_of
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory.rows import MemoryRow
from memd.store.search import vectors
from memd.store.session.sessions import IDLE_US
from memd.text.directives import has_order
from memd.text.preference import is_of_project, names_a_file
from memd.text.wishes.lasting import has_wish


def check_agent(caller: Caller) -> None:
    """Raise MemoryStoreError if the caller's agent is the reserved one of shared memories."""
    if caller.agent_id == RESERVED_AGENT:
        raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")


def advise_on_tags(request: MemoryStoreRequest, *, is_required: bool = True) -> bool:
    """Return whether *request* has the tag ``non-inferable``; log it if not (SPEC 7.15).

    It is a warning if prompts leave out memories without the tag (*is_required*). The memory's text
    is not logged.
    """
    if NON_INFERABLE_TAG in request.metadata.tags:
        return True
    details = {"category": str(request.category), "chars": len(request.content)}
    if is_required:
        log.warning("not tagged non-inferable: no prompt will have it", **details)
    else:
        log.info("not tagged non-inferable", **details)
    return False


PRIVATE_SESSIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class PrivateSessions:
    """The sessions whose last turn of a person is private: the answer to it is, too."""

    sessions: dict[tuple[str, str | None], None] = field(default_factory=dict)
    """Agent and session, the oldest first."""

    def withhold(self, caller: Caller, request: IngestRequest, drafts: Drafts) -> Drafts:
        """Return the *drafts* of the next text of a session, private if they answer such a turn.

        A turn that is only "keep this between us" is about the one before, unless that is private.
        """
        turn, session = turn_of(request), (caller.agent_id, request.session_id)
        was_private = session in self.sessions
        if turn is Origin.ASSISTANT and was_private:
            return replace(drafts, privacy=Privacy(is_asked=True, is_all=False))
        if turn is not Origin.PERSON:
            return drafts
        self.sessions.pop(session, None)
        if not drafts.privacy.is_asked:
            return drafts
        self.sessions[session] = None
        if len(self.sessions) > PRIVATE_SESSIONS_MAX:
            del self.sessions[next(iter(self.sessions))]
        is_all = drafts.privacy.is_all and not was_private
        return replace(drafts, privacy=Privacy(is_asked=True, is_all=is_all))


@dataclass(frozen=True, slots=True)
class Arrival:
    """One incoming text with its drafts.

    *encodings* is None if the queue embeds it later. With *gated* False it is stored whatever its
    importance, and not merged with a memory of the same text, except as *merge* says.
    """

    request: IngestRequest
    drafts: Drafts
    level: MemoryLevel
    encodings: Sequence[Encoding] | None = None
    speaker_vector: bytes | None = None
    """The vector of the speaker's label alone, if there are a speaker and a model."""
    batch: str | None = None
    gated: bool = True
    merge: bool = False
    """Whether it is merged with a visible memory that is filed alike (``memory.store``)."""
    model: ModelFingerprint | None = None
    """The model of the encodings. If the store has another one, they are not used."""
    distilled: bool = False
    """Whether a nap made it: not gated, but merged with memories of the same session and text."""
    source_key: int | None = None
    """The row of the source text, if that is stored already."""

    is_lasting: bool = False
    """Whether it is a shared copy, which does not end with a session."""

    def with_source(self, source: Screened | None) -> Arrival:
        """Return the arrival with its source text, if any."""
        return self if source is None else replace(self, drafts=replace(self.drafts, source=source))

    @property
    def deliberate(self) -> bool:
        """Whether it was stored on purpose."""
        return not self.gated or self.distilled or self.request.deliberate

    @property
    def is_said(self) -> bool:
        """Whether it is part of a conversation, or a nap made it of one."""
        return self.distilled or not self.deliberate

    @property
    def has_gate(self) -> bool:
        """Whether the importance gate may turn its chunks away: only a stream's."""
        return not self.deliberate and self.drafts.origin in STREAMS

    def passing(self, draft: Draft, filing: Filing) -> Passing | None:
        """Return the kind of a chunk that is a turn in passing, else None.

        That is a chunk of a conversation that states nothing, a request to forget that a nap read,
        and every turn of an assistant in a
        session without a project: there it knows only what the user says, and a nap keeps the
        results (decision 0363).
        """
        if self.distilled:  # it may end a wish, but is none
            is_forgetting = is_forget_request(user_part(draft.content))
            return Passing.REQUEST if is_forgetting else None
        if self.deliberate or self.drafts.origin not in TALKS:
            return None
        has_no_project = filing.session_key is not None and filing.project_key is None
        is_turn = self.drafts.origin is Origin.ASSISTANT and is_assistant(self.drafts.speaker)
        if has_no_project and is_turn and self.drafts.caption is None:
            return draft.passing or Passing.REMARK
        return draft.passing


@dataclass(slots=True)
class Filing:
    """The keys under which an arrival's rows are filed."""

    agent_key: int
    client_key: int
    session_key: int | None
    project_key: int | None
    project_id: str | None
    source_key: int | None
    ordinal: int | None
    model_key: int | None
    now_us: int
    ids: Ids
    is_known: bool
    """Whether the caller is the owner, or a program with a key."""


@dataclass(slots=True)
class Filings:
    """Files the arrivals of one transaction, looking each session up once."""

    conn: Writing
    caller: Caller
    ids: Ids
    now_us: int
    filings: dict[tuple[str | None, str | None], Filing] = field(default_factory=dict)

    def file(self, arrival: Arrival) -> Filing:
        """Return the filing of *arrival*, with the next order number of its session."""
        scope_ids = (
            arrival.request.session_id or self.caller.session_id,
            arrival.request.project_id or self.caller.project_id,
        )
        filing = self.filings.get(scope_ids)
        if filing is None:
            filing = self.filings[scope_ids] = self._new_filing(
                *(None if name is None else screen_name(name) for name in scope_ids)
            )
        ordinal = arrival.request.order
        if ordinal is None and filing.session_key is not None:
            ordinal = names.next_ordinal(self.conn, filing.session_key)
        model_key = None  # the key of the live model, if it made the encodings
        if arrival.encodings is not None and arrival.model is not None:
            model_key = vectors.live_model(self.conn, arrival.model.text) or None
        return replace(filing, source_key=arrival.source_key, ordinal=ordinal, model_key=model_key)

    def _new_filing(self, session_id: str | None, project_id: str | None) -> Filing:
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
            project_id=project_id,
            source_key=None,
            ordinal=None,
            model_key=None,
            now_us=now_us,
            ids=self.ids,
            is_known=self.caller.is_known,
        )


def _level(arrival: Arrival, draft: Draft, filing: Filing) -> MemoryLevel:
    """Return the level of a chunk: PROJECT for a preference that concerns only its project.

    That is one about "this repo", one that names a file, an order what to use, or an order to the
    assistant that was said in a session and not added on purpose.
    """
    is_of_one_project = (
        draft.preference is not None
        and filing.project_key is not None
        and arrival.level is MemoryLevel.PERSISTENT
        and (
            is_of_project(draft.content)
            or names_a_file(draft.preference.value)
            or has_order(draft.preference.value)
            or (arrival.is_said and has_wish(draft.preference.value))
        )
    )
    return MemoryLevel.PROJECT if is_of_one_project else arrival.level


def new_row(arrival: Arrival, draft: Draft, filing: Filing) -> MemoryRow:
    """Return the row of a chunk, pending and without importance."""
    request, drafts, ids = arrival.request, arrival.drafts, filing.ids
    return MemoryRow(
        memory_id=ids.new(),
        agent_key=filing.agent_key,
        client_key=filing.client_key,
        session_key=filing.session_key,
        project_key=filing.project_key,
        source_key=filing.source_key,
        namespace=drafts.namespace,
        category=draft.category,
        level=_level(arrival, draft, filing),
        origin=drafts.origin,
        trust=drafts.trust,
        speaker=drafts.speaker,
        content=draft.content,
        caption=drafts.caption,
        reference=drafts.reference,
        ordinal=filing.ordinal,
        part=draft.part,
        batch=arrival.batch,
        token_count=draft.token_count,
        importance=None,
        confidence=request.confidence,
        created_at_us=filing.now_us,
        occurred_at_us=to_us(request.occurred_at),
        salt=ids.salt(),
        state=MemoryState.PENDING,
        expires_at_us=_expiry_us(arrival, draft, filing),
        tags=drafts.tags,
        # A memory with a guessed category, as in an import, survives the end of its session.
        as_is=not arrival.gated and not arrival.distilled and request.category is not None,
        passing=arrival.passing(draft, filing),
    )


def _expiry_us(arrival: Arrival, draft: Draft, filing: Filing) -> int | None:
    """Return when a memory expires, None for never.

    A working memory without a session expires after the time that ends an idle session. A requested
    time that has passed during embedding becomes now.
    """
    expires_at = arrival.request.expires_at
    if expires_at is not None:
        return max(to_us(expires_at), filing.now_us)
    is_working = draft.category is MemoryCategory.WORKING and not arrival.is_lasting
    return filing.now_us + IDLE_US if is_working and filing.session_key is None else None
