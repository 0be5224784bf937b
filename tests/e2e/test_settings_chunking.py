"""How large the chunks are is a setting: shown over the socket of a daemon (SPEC 1.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.effects import a_stage, shows, tree

from memd.base.settings import SettingsWarning
from memd.domain.encoding import ChunkingConfig
from memd.domain.settings.settings import Settings

SENTENCES = [
    f"The boat of row {number} lies at pier {number} since the storm." for number in range(15)
]
PARAGRAPHS = "\n\n".join(" ".join(SENTENCES[at : at + 5]) for at in range(0, 15, 5))


async def _chunks(home: Path, patch: pytest.MonkeyPatch, **bounds: int) -> list[dict[str, Any]]:
    """Return the memories that a daemon with *bounds* makes of three paragraphs, in order."""
    said = tree("memory.chunking", bounds) if bounds else {}
    async with a_stage(home, patch, said) as stage:
        receipt = await stage.call("memory.ingest", text=PARAGRAPHS)
        ids = [item["id"] for state in ("stored", "pending") for item in receipt[state]]
        return [await stage.call("memory.get", id=each) for each in ids]


@shows("memory.chunking.max_tokens")
async def test_a_smaller_maximum_gives_more_and_smaller_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = await _chunks(tmp_path / "usual", monkeypatch)
    small = await _chunks(tmp_path / "small", monkeypatch, min_tokens=10, max_tokens=40)

    assert len(usual) == 3
    assert len(small) > 3
    assert max(each["token_count"] for each in small) <= 40


@shows("memory.chunking.min_tokens")
async def test_a_larger_minimum_joins_paragraphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only,) = await _chunks(tmp_path, monkeypatch, min_tokens=200)

    assert only["content"] == PARAGRAPHS


def test_the_documents_maximum_is_the_window_and_says_so() -> None:
    with pytest.warns(SettingsWarning, match=r"max_tokens = 300 is taken as 254"):
        settings = Settings.model_validate(tree("memory.chunking.max_tokens", 300))

    assert settings.memory.chunking == ChunkingConfig(min_tokens=50, max_tokens=254)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"min_tokens": 0}, "min_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"min_tokens": 60, "max_tokens": 59}, "min_tokens = 60 is above max_tokens = 59"),
        ({"min_tokens": 255}, "min_tokens = 255 is above max_tokens = 254"),
        ({"max_tokens": 301}, "max_tokens = 301: a chunk has at most 254 tokens"),
    ],
)
def test_bounds_that_no_chunk_can_keep_are_refused(bounds: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Settings.model_validate(tree("memory.chunking", bounds))
