"""Reads recorded coding sessions into messages: SpecStory's Markdown, SWE-agent's trajectories.

What a window holds is what counts: thoughts are left out, and the sidechains of
sub-agents where they are not asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memd.signals import specstory as product
from memd.signals.transcripts import read

Message = dict[str, Any]


def exported(folder: Path, *, sidechains: bool) -> dict[str, list[Message]]:
    """Return the messages of every Markdown session below *folder*, by name."""
    paths = sorted(folder.rglob("*.md"))
    return {path.stem: specstory(path.read_text("utf-8"), sidechains) for path in paths}


def trajectories(folder: Path) -> dict[str, list[Message]]:
    """Return the messages of every trajectory below *folder*, by name."""
    return {path.stem: read(path.read_bytes()).messages for path in sorted(folder.rglob("*.traj"))}


def specstory(text: str, sidechains: bool) -> list[Message]:
    """Return the messages of one exported session, as the product reads it."""
    return product.messages(text, sidechains=sidechains)
