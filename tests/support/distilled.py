"""What is distilled from the messages of a session, without its digest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.sleep.distil.distil import ReadSession, distil
from memd.sleep.distil.exchanges import NapKind, NapMemory


def without_digest(messages: Sequence[dict[str, Any]]) -> list[NapMemory]:
    return [each for each in distil(ReadSession.of(messages)) if each.kind is not NapKind.DIGEST]
