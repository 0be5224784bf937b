"""A secret is replaced before anything is written: no byte of it is in any file (P16, H61, H64)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.store import ADA, a_house, bytes_of, stored, tell

from memd.domain.memory import MemoryMetadata, MemoryUpdate

# Put together here, so that this file holds none.
SECRETS = {
    "an AWS key": "AKIA" + "QZ7XJ4WKPM2LVN3T",
    "a GitHub token": "ghp_" + "n7Kq2ZxW9rTb4LmVs8YcJd3Hf6PgQaEuXo1i",
    "a password in an address": "hunter2-" + "Zq9w",
}


@pytest.mark.parametrize("name", SECRETS)
async def test_no_file_holds_a_byte_of_a_secret(tmp_path: Path, name: str) -> None:
    secret = SECRETS[name]
    text = f"postgres://ann:{secret}@db.example/x" if "address" in name else secret
    async with a_house(tmp_path / "memd.db") as house:
        (memory_id,) = await stored(house, f"Ann uses {text} every day.", session_id="s")
        await stored(house, "Bob sails.", session_id="s")
        await tell(house, f"The key of the bees is {text}.\r\n\r\n\r\nTell nobody.", session_id="s")
        metadata = MemoryMetadata(tags=(text,), source=text)
        update = MemoryUpdate(content=f"Ann used {text} once.", metadata=metadata)
        await house.ingest.update(ADA, memory_id, update)
        await house.preferences.set(ADA, "key", text)
        raw = bytes_of(tmp_path)
        assert secret.encode() not in raw
        assert secret.lower().encode() not in raw  # as the full-text index would have it
        assert b"every day" in raw
    assert secret.encode() not in bytes_of(tmp_path)
