"""An approved proposal is written by the rules of every write (SPEC 15.3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.org import CALLER, HUMAN, a_request, wrote
from support.store import a_house

from memd.base.errors import OrgMemoryAccessDeniedError
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.org.access import Signature
from memd.domain.settings.org import CategoryWriteRule, OrgMemoryConfig, WriteAccessConfig
from memd.org.owner import Owner
from memd.org.review import Review, of_proposal
from memd.org.signature import statement

AGENTS_ONLY = CategoryWriteRule(allowed_seniority=SeniorityLevel.SENIOR, human_allowed=False)
RULES = WriteAccessConfig(
    rules={
        OrgFactCategory.ADR: AGENTS_ONLY,
        OrgFactCategory.CONVENTION: CategoryWriteRule(allowed_seniority=SeniorityLevel.SENIOR),
    }
)


@pytest.mark.parametrize("retract", [False, True])
async def test_no_approval_takes_a_fact_out_of_a_category_that_a_human_may_not_write(
    tmp_path: Path, retract: bool
) -> None:
    """SPEC 15.3.3, 15.3.6: the fact's own category counts, whatever the next one's is."""
    async with a_house(tmp_path / "memd.db") as house:
        (fact_id,) = await wrote(house, "Use Litestar", category="convention")
        review = Review(house.org, Owner(house.db, house.clock))
        if retract:
            proposal_id = await review.propose_retract(CALLER, fact_id)
        else:
            proposal_id = await review.propose(CALLER, a_request("Use Flask", fact_id=fact_id))
        await house.org.write(CALLER, a_request(category="adr", fact_id=fact_id), author=HUMAN)
        strict = house.org.with_config(OrgMemoryConfig(write_access=RULES))
        review = Review(strict, review.owner)
        signature = await _signed(review, proposal_id)
        with pytest.raises(OrgMemoryAccessDeniedError, match="may not write adr"):
            await review.approve(CALLER, proposal_id, signature)
        fact = await house.org.get(CALLER, fact_id)
        assert fact is not None
        assert (fact.content, fact.category) == ("Use Litestar", OrgFactCategory.ADR)


async def _signed(review: Review, proposal_id: str) -> Signature:
    key = Ed25519PrivateKey.generate()
    state = await review.owner.set(CALLER, key.public_key().public_bytes_raw().hex(), None)
    (proposal,), _ = await review.list(CALLER, None, 5)
    assert proposal.id == proposal_id
    said = statement(state.store, state.nonce, "org.approve", of_proposal(proposal))
    return Signature(nonce=state.nonce, value=key.sign(said).hex())
