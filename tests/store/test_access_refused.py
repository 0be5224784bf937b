"""Keys, proposals and refused attempts on a store that cannot be written: reads go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.access import of_access
from support.disks import read_only
from support.store import ADA, a_house

from memd.base.errors import ReadOnlyError
from memd.domain.enums import OrgFactCategory
from memd.domain.org.org import OrgFactWriteRequest
from memd.org.clients import Clients
from memd.org.owner import Owner
from memd.org.review import Review
from memd.store.access.audit import Audit
from memd.store.access.changes import AuditFilter


async def test_a_read_only_store_still_knows_its_clients_and_refuses_every_change(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    async with a_house(folder / "memd.db") as house:
        clients = Clients(house.db, house.clock, tmp_path / "keys")
        added = await clients.add(ADA, "ann", scopes=frozenset({"read"}))
        fact = OrgFactWriteRequest(content="Yes.", category=OrgFactCategory.ADR)
        proposal = await Review(house.org, Owner(house.db, house.clock)).propose(ADA, fact)
    key = Path(added.key_file).read_text("ascii").strip()
    with read_only(folder):
        async with a_house(folder / "memd.db") as house:
            clients = Clients(house.db, house.clock, tmp_path / "keys")
            await clients.load()
            found = clients.identify(key)
            assert found is not None
            assert found.client == "ann"
            waiting, _ = await Review(house.org, Owner(house.db, house.clock)).list(ADA, None, 5)
            assert [one.id for one in waiting] == [proposal]
            audit = Audit(house.db, house.clock)
            assert (await audit.verify()).ok
            assert len((await audit.show(AuditFilter(), None, 9))[0]) == 2
            for name, attempt in of_access(house).items():
                with pytest.raises(ReadOnlyError):
                    await attempt()
                assert name
