"""Facts written, retracted, proposed and decided: as whom, is proved here (SPEC D14).

With a signature that is the owner's over just this a human writes, without one the
agent that the key names. What an agent may write but a human wrote before becomes
a proposal, and the answer says so (PROMISES H55).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from memd.base.errors import DeniedError, HumanFactError
from memd.model.access import OwnerState
from memd.model.caller import Caller
from memd.model.enums import OperationType
from memd.model.org import OrgFactAuthor, OrgFactWriteRequest
from memd.org.signature import of_fact, of_request
from memd.rpc import params_access as p
from memd.rpc.params import Params
from memd.rpc.params_org import RetractFact, WriteFact
from memd.serve.dispatch import Handler
from memd.serve.org_rooms import Org, Owner, Review
from memd.serve.rooms import Rooms

HUMAN: Final = OrgFactAuthor(is_human=True)


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of what the owner decides."""
    deciding = Deciding(rooms.review, rooms.owner)
    writing = Writing(rooms.org, rooms.review, rooms.owner)
    return {
        "org.write": writing.write,
        "org.retract": writing.retract,
        "org.propose": deciding.propose,
        "org.review": deciding.list,
        "org.approve": deciding.approve,
        "org.reject": deciding.reject,
        "owner.state": deciding.state,
        "owner.set": deciding.set,
    }


def refuse_claim(author: Any) -> None:
    """Raise DeniedError for a call that says itself who wrote (PROMISES H53)."""
    if author is not None:
        raise DeniedError(
            "who writes is what the client's key or the owner's signature says",
            field="author",
            hint="leave it out",
        )


class Writing:
    """A view of the facts, for who writes them."""

    def __init__(self, org: Org, review: Review, owner: Owner) -> None:
        self._org = org
        self._review = review
        self._owner = owner

    async def write(self, caller: Caller, params: WriteFact) -> str:
        refuse_claim(params.author)
        author, raw = None, None
        if params.signature is not None:
            said = of_request(params)
            raw = await self._owner.verified(caller, params.signature, "org.write", said)
            author = HUMAN
        try:
            return await self._org.write(caller, params, author=author, signature=raw)
        except HumanFactError as error:
            request = OrgFactWriteRequest.model_validate(
                {name: getattr(params, name) for name in OrgFactWriteRequest.model_fields}
            )
            await self._proposed(error, caller, lambda who: self._review.propose(who, request))
            raise

    async def retract(self, caller: Caller, params: RetractFact) -> bool:
        refuse_claim(params.author)
        author, raw = None, None
        if params.signature is not None:
            said = of_fact(kind=OperationType.RETRACT.value, fact_id=params.fact_id)
            raw = await self._owner.verified(caller, params.signature, "org.retract", said)
            author = HUMAN
        try:
            return await self._org.retract(caller, params.fact_id, author=author, signature=raw)
        except HumanFactError as error:
            fact_id = params.fact_id
            await self._proposed(
                error, caller, lambda who: self._review.propose_retract(who, fact_id)
            )
            raise

    async def _proposed(
        self, error: HumanFactError, caller: Caller, propose: Callable[[Caller], Awaitable[str]]
    ) -> None:
        """Propose what was refused, if the caller may, and raise *error* with what came of it."""
        if "propose" in caller.scopes:
            # Without its key, under which a repetition would take this answer for the write's.
            proposal_id = await propose(replace(caller, idempotency_key=None))
            raise HumanFactError(
                f"a human wrote this fact; proposed instead, as {proposal_id}",
                field="fact_id",
                hint="the owner decides: memd org review",
            ) from error


class Deciding:
    """A view of the proposals and of the owner's key."""

    def __init__(self, review: Review, owner: Owner) -> None:
        self._review = review
        self._owner = owner

    async def propose(self, caller: Caller, params: p.ProposeFact) -> str:
        refuse_claim(params.author)
        if params.retract:
            return await self._review.propose_retract(caller, str(params.fact_id))
        request = OrgFactWriteRequest(
            content=params.content,
            category=params.category,
            tags=params.tags,
            fact_id=params.fact_id,
            valid_from=params.valid_from,
            valid_to=params.valid_to,
        )
        return await self._review.propose(caller, request)

    async def list(self, caller: Caller, params: p.Review) -> p.Proposals:
        items, after = await self._review.list(caller, params.after, params.limit)
        return p.Proposals(items=items, next=after)

    async def approve(self, caller: Caller, params: p.Decide) -> str:
        return await self._review.approve(caller, params.id, params.signature)

    async def reject(self, caller: Caller, params: p.Decide) -> bool:
        return await self._review.reject(caller, params.id, params.signature)

    async def state(self, caller: Caller, params: Params) -> OwnerState:
        del params
        return await self._owner.state(caller)

    async def set(self, caller: Caller, params: p.SetOwner) -> OwnerState:
        return await self._owner.set(caller, params.public_key, params.signature)
