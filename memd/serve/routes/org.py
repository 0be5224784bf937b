"""``org.*``: facts and their history, writes, proposals and decisions.

The author of a write is determined here (SPEC D14): with the owner's signature over exactly
this write it is a human, without one it is the agent of the client's key. If an agent writes
over a fact that a human wrote, the write becomes a proposal, and the error says so (PROMISES
H55).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Self

from pydantic import Field, model_validator

from memd.base.errors import DeniedError, HumanFactError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import OperationType, OrgFactCategory
from memd.domain.org.access import Proposal, Signature
from memd.domain.org.history import AsOfQuery, PastFacts, Timeline
from memd.domain.org.org import (
    HUMAN,
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
    OrgTags,
)
from memd.domain.values import Name, Text, Time, Value
from memd.org.signature import fact_content, request_content
from memd.serve.routes.routes import (
    Context,
    KeyParams,
    Page,
    Params,
    Router,
    ShortId,
    fitting_items,
)

router = Router()

_FACT_ID = ShortId("fact_id", "fact")


class SignedParams(KeyParams):
    """Params that the owner may sign; with a *signature* the author is human.

    Any *author* is refused: the key or the signature proves who writes.
    """

    signature: Signature | None = None
    author: Any = None


class WriteFactParams(OrgFactWriteRequest, SignedParams):
    """A new fact, or with *fact_id* the next version of one."""


class RetractFactParams(SignedParams):
    """The fact to retract."""

    fact_id: Name


class FactParams(Params):
    """One fact."""

    fact_id: Name


class QueryFactsParams(OrgMemoryQuery, Params):
    """A search over facts."""


class PoliciesParams(Params):
    """A page of the policies valid now; with *every* also those valid at other times."""

    every: bool = False
    limit: int | None = Field(default=None, ge=0, le=PAGE_ITEMS_MAX)
    offset: int = Field(default=0, ge=0)


class FactHistoryParams(Params):
    """The log of one fact, paged: *after* is the ``next`` of the page before, a version."""

    fact_id: Name
    after: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class FactChangesParams(Params):
    """The operations on all facts since *since*, paged."""

    since: Time
    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class SnapshotParams(Params):
    """All facts as they were at *at*, paged."""

    at: Time
    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class AsOfParams(AsOfQuery, Params):
    """The facts valid at *valid* as they were known at *known*, paged."""


class TimelineParams(Params):
    """The entity called *name*, or the fact with that id."""

    name: Name


class ProposeFactParams(KeyParams):
    """A fact proposed to be written or, with *retract*, to be retracted.

    Any *author* is refused: the key proves who proposes.
    """

    category: OrgFactCategory | None = None
    content: Text | None = None
    tags: OrgTags = ()
    fact_id: Name | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    retract: bool = False
    agent_id: Name | None = None
    author: Any = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.retract and (self.fact_id is None or self.content is not None):
            raise ValueError("to retract a fact, name its fact_id and no content")
        if not self.retract and (self.content is None or self.category is None):
            raise ValueError("a fact needs a category and a content")
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            raise ValueError("valid_from must be before valid_to")
        return self


class ReviewParams(Params):
    """Open proposals, oldest first: *after* is the ``next`` of the page before."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class DecideParams(KeyParams):
    """A proposal to approve or reject, with the owner's signature."""

    id: Name
    signature: Signature | None = None


class OperationPage(Value):
    """One page of a fact's log, oldest version first."""

    items: tuple[OperationLogEntry, ...]
    next: int | None = None


# Reads.


@router.method("org.get", "Get one fact, or null.", short_id=_FACT_ID)
async def get(context: Context, params: FactParams) -> OrgFact | None:
    return await context.rooms.org.get(context.caller, params.fact_id)


@router.method("org.query", "Search facts, or list the newest.")
async def query(context: Context, params: QueryFactsParams) -> tuple[OrgFact, ...]:
    return await context.rooms.org.query(context.caller, params)


@router.method("org.policies", "List the policies that every prompt contains.")
async def policies(context: Context, params: PoliciesParams) -> tuple[OrgFact, ...]:
    return await context.rooms.org.list_policies(
        context.caller, params.limit, params.offset, every=params.every
    )


@router.method("org.count_policies", "Count policies.")
async def count_policies(context: Context, _params: Params) -> int:
    return await context.rooms.org.count_policies(context.caller)


@router.method("org.history", "List the versions of a fact.", short_id=_FACT_ID)
async def history(context: Context, params: FactHistoryParams) -> OperationPage:
    """Return one page, shortened so that its texts fit into a frame."""
    entries = await context.rooms.org.history(context.caller, params.fact_id)
    later = [entry for entry in entries if params.after is None or entry.version > params.after]
    items = tuple(fitting_items(later[: params.limit]))
    return OperationPage(items=items, next=items[-1].version if len(items) < len(later) else None)


@router.method("org.changes", "List what was written and retracted since a time.")
async def changes(context: Context, params: FactChangesParams) -> Page[OperationLogEntry]:
    """Return one page, the last change first, shortened so that its texts fit into a frame."""
    entries, after = await context.rooms.org.past.changes(
        context.caller, params.since, params.after, params.limit
    )
    items = tuple(fitting_items(entries))
    is_whole = len(items) == len(entries)
    return Page[OperationLogEntry](items=items, next=after if is_whole else items[-1].operation_id)


@router.method("org.snapshot_at", "List the facts as they were at a time.")
async def snapshot_at(context: Context, params: SnapshotParams) -> Page[OperationLogSnapshot]:
    """Return one page, shortened so that its texts fit into a frame."""
    facts = await context.rooms.org.snapshot_at(
        context.caller, params.at, params.after, params.limit + 1
    )
    items = tuple(fitting_items(facts[: params.limit]))
    return Page[OperationLogSnapshot](
        items=items, next=items[-1].fact_id if len(items) < len(facts) else None
    )


@router.method("org.as_of", "List the facts valid at one time, as known at another.")
async def as_of(context: Context, params: AsOfParams) -> PastFacts:
    """Return one page, shortened so that its texts fit into a frame."""
    facts = await context.rooms.org.past.as_of(context.caller, params)
    items = tuple(fitting_items(facts.items))
    if len(items) == len(facts.items):
        return facts
    return facts.model_copy(update={"items": items, "next": items[-1].operation_id})


@router.method(
    "org.timeline", "Get the timeline of an entity or fact.", short_id=ShortId("name", "fact")
)
async def timeline(context: Context, params: TimelineParams) -> Timeline:
    """Return the timeline, truncated to the stretches that fit into a frame."""
    complete = await context.rooms.org.past.timeline(context.caller, params.name)
    count = len(complete.versions)
    items = tuple(fitting_items((*complete.versions, *complete.stretches)))
    if len(items) == count + len(complete.stretches):
        return complete
    shown = {"versions": items[:count], "stretches": items[count:], "truncated": True}
    return complete.model_copy(update=shown)


# Writes.


@router.method(
    "org.write",
    "Write a fact or its next version; returns its id.",
    scope="write",
    short_id=_FACT_ID,
)
async def write(context: Context, params: WriteFactParams) -> Name:
    author, raw = await _author(context, params, "org.write", lambda: request_content(params))
    try:
        return await context.rooms.org.write(context.caller, params, author=author, signature=raw)
    except HumanFactError as error:
        request, review = _request(params), context.rooms.review
        await _propose(error, context.caller, lambda caller: review.propose(caller, request))
        raise


@router.method("org.retract", "Retract a fact.", scope="write", short_id=_FACT_ID)
async def retract(context: Context, params: RetractFactParams) -> bool:
    fact_id, kind = params.fact_id, OperationType.RETRACT.value
    author, raw = await _author(
        context, params, "org.retract", lambda: fact_content(kind=kind, fact_id=fact_id)
    )
    try:
        return await context.rooms.org.retract(
            context.caller, fact_id, author=author, signature=raw
        )
    except HumanFactError as error:
        review = context.rooms.review
        await _propose(
            error, context.caller, lambda caller: review.propose_retract(caller, fact_id)
        )
        raise


async def _author(
    context: Context, params: SignedParams, action: str, signed: Callable[[], dict[str, Any]]
) -> tuple[OrgFactAuthor | None, bytes | None]:
    """Return a human author and the signature if the owner signed, else None and None."""
    _refuse_claim(params.author)
    if params.signature is None:
        return None, None
    raw = await context.rooms.owner.verify(context.caller, params.signature, action, signed())
    return HUMAN, raw


def _refuse_claim(author: Any) -> None:
    """Raise DeniedError for a call that claims an author (PROMISES H53)."""
    if author is not None:
        raise DeniedError(
            "the client's key or the owner's signature says who writes",
            field="author",
            hint="leave it out",
        )


async def _propose(
    error: HumanFactError, caller: Caller, propose: Callable[[Caller], Awaitable[str]]
) -> None:
    """Propose the refused write, if the caller may, and raise an error with the proposal's id."""
    if "propose" in caller.scopes:
        # Without the idempotency key, under which the write would find this answer as its own.
        proposal_id = await propose(replace(caller, idempotency_key=None))
        raise HumanFactError(
            f"a human wrote this fact; proposed instead, as {proposal_id}",
            field="fact_id",
            hint="the owner decides: memd org review",
        ) from error


# Proposals and decisions.


@router.method(
    "org.propose",
    "Propose a fact to the owner; returns the proposal's id.",
    scope="propose",
    short_id=_FACT_ID,
)
async def propose(context: Context, params: ProposeFactParams) -> Name:
    _refuse_claim(params.author)
    if params.retract:
        return await context.rooms.review.propose_retract(context.caller, str(params.fact_id))
    return await context.rooms.review.propose(context.caller, _request(params))


def _request(params: WriteFactParams | ProposeFactParams) -> OrgFactWriteRequest:
    return OrgFactWriteRequest.model_validate(
        {name: getattr(params, name) for name in OrgFactWriteRequest.model_fields}
    )


@router.method("org.review", "List open proposals.")
async def review(context: Context, params: ReviewParams) -> Page[Proposal]:
    items, after = await context.rooms.review.list(context.caller, params.after, params.limit)
    return Page[Proposal](items=items, next=after)


@router.method("org.approve", "Approve a proposal, with the owner's signature.", scope="write")
async def approve(context: Context, params: DecideParams) -> Name:
    return await context.rooms.review.approve(context.caller, params.id, params.signature)


@router.method("org.reject", "Reject a proposal, with the owner's signature.", scope="write")
async def reject(context: Context, params: DecideParams) -> bool:
    return await context.rooms.review.reject(context.caller, params.id, params.signature)
