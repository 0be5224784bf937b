"""One operation of each kind on data other than memories, over real rooms."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.org import HUMAN, a_request

from memd.backends.rooms import Rooms
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory
from memd.domain.files import FileCommand
from memd.domain.learn import SuccessReport, TaskReport
from memd.domain.memory import MemoryStoreRequest
from memd.domain.org.access import Signature
from memd.inject.tools.files import Files
from memd.learn.learn import Learn
from memd.org.clients import Clients
from memd.org.owner import Owner
from memd.org.review import Review
from memd.org.signature import proposal_content, statement
from memd.store.org import org

ADA = Caller(agent_id="ada", client="test", method="test")
Act = Callable[[], Awaitable[Any]]


@dataclass
class Desk:
    """The rooms that write what is no memory, over one open file."""

    house: Rooms
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)
    """What was made, by what it is called here."""
    key: Ed25519PrivateKey = field(
        default_factory=lambda: Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    )

    def __post_init__(self) -> None:
        house = self.house
        seeds = itertools.count()
        self.files = Files(house.db, house.ingest, house.recall, house.trash, house.clock)
        self.learn = Learn(house.db, house.clock, house.ids)
        self.owner = Owner(house.db, house.clock)
        self.review = Review(house.org, self.owner)
        self.clients = Clients(
            house.db,
            house.clock,
            self.folder / "keys",
            chance=lambda size: next(seeds).to_bytes(size, "big"),
        )

    # Facts.

    async def write(self, name: str, content: str, **more: Any) -> None:
        old = {"fact_id": self.ids[name]} if name in self.ids else {}
        request = a_request(content, **old, **more)
        self.ids[name] = await self.house.org.write(ADA, request, author=HUMAN)

    async def retract(self, name: str) -> None:
        assert await self.house.org.retract(ADA, self.ids[name], author=HUMAN)

    async def in_force(self) -> None:
        """Note who may write and read what, as a start does."""
        now_us = self.house.clock.now_us()
        await self.house.db.write(ADA, lambda conn: org.record_rules(conn, '{"read": {}}', now_us))

    async def own(self) -> None:
        await self.owner.set(ADA, self.key.public_key().public_bytes_raw().hex(), None)

    async def propose(self, name: str, content: str) -> None:
        self.ids[name] = await self.review.propose(ADA, a_request(content, category="core_policy"))

    async def approve(self, name: str) -> None:
        items, _ = await self.review.list(ADA, None, 10)
        (proposal,) = [one for one in items if one.id == self.ids[name]]
        state = await self.owner.state(ADA)
        signed_text = statement(state.store, state.nonce, "org.approve", proposal_content(proposal))
        signature = Signature(nonce=state.nonce, value=self.key.sign(signed_text).hex())
        self.ids[f"{name} approved"] = await self.review.approve(ADA, proposal.id, signature)

    # What agents share, files, lessons, keys.

    async def publish(self, name: str, content: str) -> None:
        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=content)
        self.ids[name] = await self.house.sharing.publish(ADA, request)

    async def take_back(self, name: str) -> None:
        assert await self.house.sharing.retract(ADA, self.ids[name])

    async def file(self, command: str, **given: Any) -> None:
        request = FileCommand.model_validate({"command": command, **given})
        reply = await self.files.run(ADA, request)
        assert not reply.is_error, reply.text

    async def outcome(self, response: str) -> None:
        await self.learn.record_outcome(
            ADA, TaskReport(final_response=response, tools=("grep", "edit"))
        )

    async def success(self, description: str) -> None:
        await self.learn.record_success(
            ADA, SuccessReport(description=description, tools=("grep", "edit"))
        )

    async def add_client(self, name: str) -> None:
        await self.clients.add(ADA, name, scopes=frozenset({"read", "write"}))

    async def tell(self, content: str) -> None:
        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=content)
        self.ids["told"] = await self.house.ingest.store(ADA, request)

    async def quarantined(self) -> None:
        await self.house.quarantine.quarantine(ADA, self.ids["told"])

    async def read(self) -> None:
        """Learn what memories say, as the background does."""
        assert await self.house.relation_extractor.drain()


def acts(desk: Desk) -> dict[str, Act]:
    """Return one of every kind of write, in an order in which each finds what it needs."""
    d, path = desk, "/memories/plan.md"
    return {
        "rules": d.in_force,
        "write a fact": lambda: d.write("web", "The shop uses Django. The shop runs on Linux."),
        "write a version": lambda: d.write("web", "The shop uses Django for admin."),
        "write what ends it": lambda: d.write("new", "The shop moved from Django to Litestar."),
        "retract a fact": lambda: d.retract("new"),
        "owner": d.own,
        "propose": lambda: d.propose("wish", "Every release is signed by Ms Fjord."),
        "approve": lambda: d.approve("wish"),
        "publish": lambda: d.publish("tip", "The gate code of the yard changed."),
        "publish another": lambda: d.publish("tip2", "The ferry leaves at nine."),
        "take back": lambda: d.take_back("tip"),
        "create a file": lambda: d.file("create", path=path, file_text="Buy paint.\nCall Ann.\n"),
        "edit a file": lambda: d.file("str_replace", path=path, old_str="Ann", new_str="Bob"),
        "blank file": lambda: d.file("create", path="/memories/empty.md", file_text="\n"),
        "rename a file": lambda: d.file("rename", old_path=path, new_path="/memories/done.md"),
        "rewrite a file": lambda: d.file(
            "insert", path="/memories/done.md", insert_line=0, insert_text="Today:\n"
        ),
        "second file": lambda: d.file("create", path="/memories/b.md", file_text="Sail on Monday."),
        "delete a file": lambda: d.file("delete", path="/memories/b.md"),
        "lesson": lambda: d.outcome("All tests passed. Done."),
        "pattern": lambda: d.success("Look for it, then change it"),
        "pattern again": lambda: d.success("Look for it, then change it"),
        "key": lambda: d.add_client("laptop"),
        "key taken away": lambda: d.clients.revoke(ADA, "laptop"),
        "tell": lambda: d.tell("The harbour uses Litestar. The harbour uses Postgres."),
        "read what was told": d.read,
        "set aside": d.quarantined,
    }
