"""Take proposals of facts, which anybody may make, and execute the owner's decisions (SPEC D14).

A proposal is approved or rejected only with the owner's signature over its content; seniority,
scopes and the number of proposers do not matter. Approval writes the fact and closes the proposal
in one transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from memd.base.clock import from_us
from memd.base.errors import InvalidStateError, NotFoundError, OrgMemoryWriteError, QuotaError
from memd.base.limits import PROPOSALS_OPEN_MAX
from memd.domain.caller import LOCAL, Caller
from memd.domain.enums import OperationType, OrgFactCategory, ProposalState
from memd.domain.org.access import Proposal, Signature
from memd.domain.org.org import HUMAN, OrgFactWriteRequest
from memd.domain.trust import Screened
from memd.org import temporal
from memd.org.access import readable_categories, require_write_access
from memd.org.org import Org
from memd.org.owner import Owner
from memd.org.signature import proposal_content
from memd.store.file.connect import Reading, Writing
from memd.store.org import org as log
from memd.store.org import proposals
from memd.store.org.org import FactContent, Operation
from memd.store.org.proposals import NewProposal, ProposalRow


@dataclass(frozen=True)
class Review:
    """Stores proposals, and executes the owner's decisions."""

    org: Org
    owner: Owner

    async def propose(self, caller: Caller, request: OrgFactWriteRequest) -> str:
        """Propose a fact, or the next version of one; return the proposal's id.

        Repeating an open proposal returns its id. Raises OrgMemoryWriteError for an unknown
        *fact_id*, QuotaError, SecretRefusedError.
        """
        content = await self.org.screen_content(request)
        return await self._propose(caller, OperationType.PUBLISH, request.fact_id, content)

    async def propose_retract(self, caller: Caller, fact_id: str) -> str:
        """Propose to retract a fact; return the proposal's id. Raises like :meth:`propose`."""
        return await self._propose(caller, OperationType.RETRACT, fact_id, None)

    async def _propose(
        self, caller: Caller, kind: OperationType, fact_id: str | None, content: FactContent | None
    ) -> str:
        proposal_id, salt = self.org.ids.new(), self.org.ids.salt()
        now_us = self.org.clock.now_us()

        def work(conn: Writing) -> str:
            category = _category(conn, kind, fact_id, content)
            new = NewProposal(
                proposal_id=proposal_id,
                fact_id=fact_id,
                kind=kind.value,
                category=category.value,
                content=None if content is None else content.content,
                tags=() if content is None else content.tags,
                valid_from_us=None if content is None else content.valid_from_us,
                valid_to_us=None if content is None else content.valid_to_us,
                author_id=caller.agent_id,
                client=caller.client,
                salt=salt,
            )
            existing_id = proposals.find_same(conn, new)
            if existing_id is not None:
                return existing_id
            if proposals.count_open(conn, caller.client) >= PROPOSALS_OPEN_MAX:
                raise QuotaError(
                    f"{PROPOSALS_OPEN_MAX} proposals of client {caller.client} wait already",
                    hint="memd org review",
                )
            proposals.insert(conn, new, now_us)
            return proposal_id

        return await self.org.db.write(caller, work, reply=str)

    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Proposal, ...], str | None]:
        """Return open proposals, the oldest first, and the id after which the next page begins.

        Proposals of other clients are left out in categories that *caller* may not read, so a
        page may be short. The id is None after the last page.
        """
        rows = await self.org.db.read(proposals.list_open, after, limit)
        readable = readable_categories([self.org.config.read_access], caller)
        # A client without a key has no identity, so no proposal counts as its own.
        own_client = None if caller.client == LOCAL else caller.client
        items = tuple(
            _to_proposal(row)
            for row in rows
            if row.category in readable or row.client == own_client
        )
        return items, rows[-1].proposal_id if len(rows) == limit else None

    async def approve(self, caller: Caller, proposal_id: str, signature: Signature | None) -> str:
        """Execute a proposal as the owner; return the fact's id.

        Raises DeniedError without the owner's signature over it, NotFoundError,
        InvalidStateError when it was decided already, OrgMemoryAccessDeniedError for a category
        that not even a human may write.
        """
        raw = await self._verify(caller, "org.approve", proposal_id, signature)
        stamp = self.org.stamp(caller, HUMAN, raw)

        def work(conn: Writing) -> str:
            row = _require_open(conn, proposal_id)
            category = OrgFactCategory(row.category)
            require_write_access(self.org.config.write_access, category, HUMAN)
            previous = None if row.fact_id is None else log.get_state(conn, row.fact_id)
            if previous is not None:  # a move needs access to both categories, as in every write
                require_write_access(self.org.config.write_access, previous.category, HUMAN)
            fact_id = row.fact_id or self.org.ids.new()
            operation: Operation | None
            if row.kind == OperationType.RETRACT:
                operation = log.retract(conn, fact_id, stamp)
                if operation is None:
                    raise InvalidStateError("the fact is retracted already", field="id")
            else:
                content = FactContent(
                    category,
                    Screened(str(row.content)),
                    tuple(json.loads(row.tags)),
                    row.valid_from_us,
                    row.valid_to_us,
                )
                operation = log.publish(conn, fact_id, content, stamp)
            temporal.learn(conn, operation)
            proposals.decide(
                conn,
                row,
                ProposalState.APPROVED,
                operation_id=operation.operation_id,
                salt=stamp.salt,
                now_us=stamp.now_us,
            )
            return fact_id

        return await self.org.db.write(caller, work, reply=str)

    async def reject(self, caller: Caller, proposal_id: str, signature: Signature | None) -> bool:
        """Close a proposal without writing a fact; raises like :meth:`approve`."""
        await self._verify(caller, "org.reject", proposal_id, signature)
        salt, now_us = self.org.ids.salt(), self.org.clock.now_us()

        def work(conn: Writing) -> bool:
            row = _require_open(conn, proposal_id)
            proposals.decide(
                conn, row, ProposalState.REJECTED, operation_id=None, salt=salt, now_us=now_us
            )
            return True

        return await self.org.db.write(caller, work, reply=bool)

    async def _verify(
        self, caller: Caller, action: str, proposal_id: str, signature: Signature | None
    ) -> bytes:
        row = await self.org.db.read(proposals.get, proposal_id)
        # An unknown id fails like a wrong signature, so that nobody can probe for proposals.
        fields = {} if row is None else proposal_content(_to_proposal(row))
        return await self.owner.verify(caller, signature, action, fields)


def _category(
    conn: Reading, kind: OperationType, fact_id: str | None, content: FactContent | None
) -> OrgFactCategory:
    """Return the category of the proposed content, or of the fact to be retracted.

    Raises OrgMemoryWriteError for an unknown fact, or if a retracted one is to be retracted.
    """
    state = None if fact_id is None else log.get_state(conn, fact_id)
    if fact_id is not None and (
        state is None or (kind is OperationType.RETRACT and state.is_retracted)
    ):
        raise OrgMemoryWriteError("no fact has this id", field="fact_id")
    if content is not None:
        return content.category
    assert state is not None
    return state.category


def _require_open(conn: Reading, proposal_id: str) -> ProposalRow:
    row = proposals.get(conn, proposal_id)
    if row is None:
        raise NotFoundError("no proposal has this id", field="id")
    if row.state != ProposalState.OPEN:
        raise InvalidStateError(f"the proposal was {row.state} already", field="id")
    return row


def _to_proposal(row: ProposalRow) -> Proposal:
    return Proposal(
        id=row.proposal_id,
        kind=OperationType(row.kind),
        category=OrgFactCategory(row.category),
        content=row.content,
        tags=tuple(json.loads(row.tags)),
        fact_id=row.fact_id,
        valid_from=from_us(row.valid_from_us),
        valid_to=from_us(row.valid_to_us),
        author_id=row.author_id,
        client=row.client,
        at=from_us(row.at_us),
        state=ProposalState(row.state),
        decided_at=from_us(row.decided_at_us),
        operation_id=row.operation_id,
        clients=max(1, row.clients),
    )
