"""X3, X4, X5: sleep mode as its document tells it, with its numbers and its example output."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from support.commands import run_python
from support.daemon import ROOT

from memd.api import MemoryConsolidator

DOCUMENT = "003_*.txt"

EXAMPLE_OUTPUT = """\
[Session context consolidated]

- [shell_exec] Exit code 0. Deployed 47 files to /opt/app
- decided: use blue-green deployment strategy
- created: backup at /tmp/app-backup-20260317.tar.gz
- Check the nginx config before restarting
- [file_read] server { listen 80; server_name app.example.com; ..."""

PROSE = (
    "There are several ways to roll out a new version without an interruption, and each of them"
    " has its own costs; having compared them, here is what seems best for this service."
)
OLDER: list[dict[str, Any]] = [
    {"role": "tool", "name": "shell_exec", "content": "Exit code 0. Deployed 47 files to /opt/app"},
    {
        "role": "assistant",
        "content": f"{PROSE}\ndecided: use blue-green deployment strategy\n{PROSE}",
    },
    {
        "role": "assistant",
        "content": f"{PROSE}\n\n  created: backup at /tmp/app-backup-20260317.tar.gz",
    },
    {"role": "user", "content": "Check the nginx config before restarting"},
    {
        "role": "tool",
        "name": "file_read",
        "content": "server { listen 80; server_name app.example.com; ...",
    },
]
RECENT: list[dict[str, Any]] = [
    {"role": "assistant", "content": "The configuration is valid."},
    {"role": "user", "content": "Then restart it."},
    {"role": "tool", "name": "shell_exec", "content": "ok"},
    {"role": "assistant", "content": "Restarted; result: 200 from the health check."},
]


@pytest.mark.parametrize(
    ("tokens", "full"),
    [(25_000, True), (23_999, False), (24_000, True), (0, False), (-1, False), (10**9, True)],
)
def test_x3_a_window_is_full_from_eighty_percent_on(tokens: int, full: bool) -> None:
    """SPEC 6.2."""
    consolidator = MemoryConsolidator(threshold_pct=0.8, max_tokens=30_000)

    assert consolidator.should_consolidate(current_tokens=tokens) is full


def test_x4_the_summary_is_the_documents_example_to_the_byte() -> None:
    messages = [*OLDER, *RECENT]
    before = copy.deepcopy(messages)

    shorter, summary = MemoryConsolidator().consolidate(messages, "You deploy services.")

    assert shorter == [{"role": "user", "content": EXAMPLE_OUTPUT}, *RECENT]
    assert all(kept is given for kept, given in zip(shorter[1:], RECENT, strict=True))
    assert f"[Session context consolidated]\n\n{summary}" == EXAMPLE_OUTPUT
    assert messages == before


def test_x4_the_example_is_what_the_document_says() -> None:
    pages = sorted((ROOT.parent / "shared" / "design" / "seeds").glob(DOCUMENT))
    if not pages:
        pytest.skip("the documents are not beside the repository")
    document = Path(pages[0]).read_text("utf-8")

    assert f"\n{EXAMPLE_OUTPUT}\n" in document
    assert "MemoryConsolidator(threshold_pct=0.8, max_tokens=30000)" in document
    assert "mc.should_consolidate(current_tokens=25000)" in document


def test_x4_the_summary_consolidated_again_is_the_same() -> None:
    once = MemoryConsolidator().consolidate([*OLDER, *RECENT], "")

    assert MemoryConsolidator().consolidate(once[0], "") == once


def test_x5_800_characters_are_200_tokens() -> None:
    assert MemoryConsolidator.estimate_tokens([{"content": "x" * 800}]) == 200


def test_x5_the_estimate_is_the_same_without_a_model(tmp_path: Path) -> None:
    code = (
        "from memd.api import MemoryConsolidator as M; import sys;"
        "print(M.estimate_tokens([{'content': 'x' * 800}]), 'tokenizers' in sys.modules)"
    )

    env = {"MEMD_MODEL_DIR": str(tmp_path / "none"), "MEMD_HOME": str(tmp_path)}

    assert run_python(code, env=env).split() == ["200", "False"]
