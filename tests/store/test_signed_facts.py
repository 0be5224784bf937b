"""Who may read which facts; a signed one is verified whenever it is read, prompts included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.clocks import HeldClock
from support.org import CALLER, HUMAN, a_request, wrote
from support.store import ADA, a_house, tampering

from memd.backends.rooms import Rooms
from memd.domain.caller import OPERATOR, Caller
from memd.domain.enums import SeniorityLevel
from memd.domain.inject import PrepareRequest
from memd.domain.org.access import Signature
from memd.domain.org.org import OrgMemoryQuery
from memd.domain.settings.org import org_memory_config
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.settings.settings import Settings
from memd.inject.inject import Inject
from memd.inject.knowledge import Knowledge
from memd.inject.own_memories import MemoryRooms
from memd.learn.learn import Learn
from memd.org.owner import Owner
from memd.org.review import Review
from memd.org.signature import proposal_content, request_content, statement
from memd.recall.text_ranker import TextRanker
from memd.store.check.integrity import OPERATION
from memd.store.file.connect import hash_columns

KEY = Ed25519PrivateKey.generate()
POLICY, FACT = "Never push on a Friday.", "We decided that nginx listens on port 8080 everywhere."


async def signed(house: Rooms, **given: Any) -> str:
    """Write a fact as the owner does: over the socket, with a signature."""
    owner, request = Owner(house.db, house.clock), a_request(**given)
    state = await owner.set(CALLER, KEY.public_key().public_bytes_raw().hex(), None)
    content = request_content(request)
    value = KEY.sign(statement(state.store, state.nonce, "org.write", content))
    proof = await owner.verify(
        CALLER, Signature(nonce=state.nonce, value=value.hex()), "org.write", content
    )
    return await house.org.write(CALLER, request, author=HUMAN, signature=proof)


def tampered(path: Path, change: str) -> None:
    """Change operations past memd, and make facts and hashes fit."""
    with tampering(path) as conn:
        conn.execute(f"UPDATE org_operation SET {change}")
        conn.execute(
            """
            UPDATE org_fact AS f
               SET (content, tags, category) = (SELECT content, tags, category
                                                  FROM org_operation AS o
                                                 WHERE o.operation_key = f.operation_key)
            """
        )
        rehashed(conn)


def rehashed(conn: apsw.Connection) -> None:
    cursor = conn.execute(
        f"SELECT o.operation_key, {OPERATION.select('o')} FROM org_operation AS o"
    )
    for key, *columns, _ in cursor.fetchall():
        conn.execute(
            "UPDATE org_operation SET row_hash = ? WHERE operation_key = ?",
            (hash_columns(*columns), key),
        )


async def prompt(house: Rooms) -> str:
    knowledge = Knowledge(
        TextRanker(house.db, house.recall.embedder),
        house.org,
        Learn(house.db, house.clock, house.ids),
        5,
    )
    rooms = MemoryRooms(house.recall, house.ingest, house.trash)
    room = Inject(rooms, MemoryRetrievalConfig(), HeldClock(), org=house.org, knowledge=knowledge)
    made = await room.prepare(ADA, PrepareRequest(query="Which port does nginx listen on?"))
    return "\n".join(message.content for message in made.messages)


async def test_what_the_owner_signed_is_told_and_checked(path: Path) -> None:
    async with a_house(path) as house:
        await signed(house, content=POLICY, category="core_policy", tags=("b", "a"))
        await signed(house, content=FACT, category="convention")
    async with a_house(path) as house:
        text = await prompt(house)
        assert POLICY in text
        assert FACT in text
        assert (await house.upkeep.check(ADA)).problems == ()


@pytest.mark.parametrize(
    "change",
    [
        "content = replace(content, 'a Friday', 'Mondays')",
        "tags = '[\"all\"]'",
        "category = 'adr'",
        "valid_to_us = 9000000000000000",
        "signature = CAST(replace(CAST(signature AS TEXT), 'PUBLISH', 'Publish') AS BLOB)",
    ],
)
async def test_a_signed_policy_that_was_changed_is_in_no_prompt(path: Path, change: str) -> None:
    async with a_house(path) as house:
        fact_id = await signed(house, content=POLICY, category="core_policy")
    tampered(path, change)
    async with a_house(path) as house:
        text = await prompt(house)
        assert "Never push" not in text
        assert any(fact_id in one for one in (await house.upkeep.stats())["degraded"])
        problems = (await house.upkeep.check(ADA)).problems
        assert any(fact_id in one and "signature" in one for one in problems)


async def test_another_key_proves_nothing(path: Path) -> None:
    async with a_house(path) as house:
        await signed(house, content=POLICY, category="core_policy")
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    with tampering(path) as conn:
        conn.execute(f"UPDATE owner_key SET public_key = x'{other}'")
    async with a_house(path) as house:
        assert POLICY not in await prompt(house)


async def test_what_was_signed_with_a_former_key_holds(house: Rooms) -> None:
    await signed(house, content=POLICY, category="core_policy")
    owner = Owner(house.db, house.clock)
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    state = await owner.state(CALLER)
    signed_text = statement(state.store, state.nonce, "owner.set", {"public_key": other})
    signature = Signature(nonce=state.nonce, value=KEY.sign(signed_text).hex())
    await owner.set(CALLER, other, signature)
    assert POLICY in await prompt(house)


async def test_an_approved_proposal_is_proved_as_well(path: Path) -> None:
    async with a_house(path) as house:
        review = Review(house.org, Owner(house.db, house.clock))
        proposal_id = await review.propose(CALLER, a_request(POLICY, category="core_policy"))
        state = await review.owner.set(CALLER, KEY.public_key().public_bytes_raw().hex(), None)
        (proposal,), _ = await review.list(CALLER, None, 5)
        signed_text = statement(state.store, state.nonce, "org.approve", proposal_content(proposal))
        signature = Signature(nonce=state.nonce, value=KEY.sign(signed_text).hex())
        await review.approve(CALLER, proposal_id, signature)
        assert POLICY in await prompt(house)
    tampered(path, "content = 'Always push on a Friday.'")
    async with a_house(path) as house:
        assert "Always push" not in await prompt(house)


async def test_a_text_that_was_changed_before_it_was_written_is_told(house: Rooms) -> None:
    """A secret in it: the owner signed another text than is kept."""
    text = "Deploy with the key AKIAQ7XW2M4KDN5RJ3VT, never by hand."
    await signed(house, content=text, category="core_policy")
    prompt_text = await prompt(house)
    assert "never by hand" in prompt_text
    assert "AKIAQ7XW2M4KDN5RJ3VT" not in prompt_text
    assert (await house.upkeep.check(ADA)).problems == ()


SETTINGS = Settings(
    org_memory=org_memory_config(
        {"core_policies": ["Be kind"], "read_access": {"adr": "senior", "core_policy": "lead"}}
    )
)


JUNIOR = replace(CALLER, seniority=SeniorityLevel.JUNIOR)


SENIOR = replace(CALLER, seniority=SeniorityLevel.SENIOR)


OWNER = replace(CALLER, client=OPERATOR)


LEAD = replace(CALLER, seniority=SeniorityLevel.LEAD)


@pytest.mark.parametrize(
    ("caller", "seen", "policies"),
    [
        (CALLER, {"convention"}, ["Be kind"]),
        (JUNIOR, {"convention"}, ["Be kind"]),
        (SENIOR, {"convention", "adr"}, ["Be kind"]),
        (LEAD, {"convention", "adr", "core_policy"}, ["Be kind", "Keep it secret"]),
        (OWNER, {"convention", "adr", "core_policy"}, ["Be kind", "Keep it secret"]),
    ],
)
async def test_each_sees_what_he_may(
    tmp_path: Path, caller: Caller, seen: set[str], policies: list[str]
) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock, settings=SETTINGS) as house:
        ids = {}
        for category in ("core_policy", "adr", "convention"):
            (ids[category],) = await wrote(house, "Keep it secret", category=category)
        facts = await house.org.query(caller, OrgMemoryQuery(limit=50))
        assert {fact.category for fact in facts} == seen
        facts = await house.org.query(caller, OrgMemoryQuery(context="secret", limit=50))
        assert {fact.category for fact in facts} == seen
        for category, fact_id in ids.items():
            assert (await house.org.get(caller, fact_id) is not None) is (category in seen)
            assert bool(await house.org.history(caller, fact_id)) is (category in seen)
        stood = await house.org.snapshot_at(caller, clock.now)
        assert {one.category for one in stood} == seen
        page = await house.org.snapshot_at(caller, clock.now, None, 1)
        assert [one.fact_id for one in page] == [stood[0].fact_id]
        listed = await house.org.list_policies(caller)
        assert [fact.content for fact in listed] == policies
        assert await house.org.count_policies(caller) == len(policies)


async def test_a_version_of_a_hidden_category_stays_hidden_when_the_fact_has_moved(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db", settings=SETTINGS) as house:
        (fact_id,) = await wrote(house, "hidden", category="adr")
        shown = a_request("shown", "convention", fact_id=fact_id)
        await house.org.write(CALLER, shown, author=HUMAN)
        history = await house.org.history(JUNIOR, fact_id)
        assert [entry.content for entry in history] == ["shown"]
        assert len(await house.org.history(SENIOR, fact_id)) == 2


async def test_a_page_is_full_however_much_of_it_is_hidden(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock, settings=SETTINGS) as house:
        for number in range(120):
            kind = "convention" if number in {5, 118, 119} else "adr"
            await wrote(house, str(number), category=kind)
        page = await house.org.snapshot_at(JUNIOR, clock.now, None, 2)
        assert [one.content for one in page] == ["5", "118"]
        rest = await house.org.snapshot_at(JUNIOR, clock.now, page[-1].fact_id, 2)
        assert [one.content for one in rest] == ["119"]


async def test_a_proposal_is_shown_to_whom_its_category_is_and_to_who_made_it(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db", settings=SETTINGS) as house:
        review = Review(house.org, Owner(house.db, house.clock))
        asker = replace(JUNIOR, client="asker")
        asked = [
            await review.propose(asker, a_request(f"Text {number}", category))
            for number, category in enumerate(("adr", "convention", "adr"))
        ]
        for caller in (OWNER, LEAD, SENIOR, asker):
            items, after = await review.list(caller, None, 5)
            assert ([one.id for one in items], after) == (asked, None)
        other = replace(JUNIOR, client="other")
        items, after = await review.list(other, None, 1)
        assert (items, after) == ((), asked[0])
        items, after = await review.list(other, after, 5)
        assert ([one.id for one in items], after) == ([asked[1]], None)
