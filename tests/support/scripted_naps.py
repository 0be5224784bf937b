"""Naps with memories that the test supplies, stored in the same way as those of the daemon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from support.nights import ADA, Bed

from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel, Origin
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.nap.preparation import draft_memories, extract, read
from memd.sleep.nap.source import NapRequest, NapSource
from memd.sleep.nap.transaction import NapOutcome, NapTransaction
from memd.sleep.transcript.consolidator import MemoryConsolidator
from memd.sleep.window.trigger import Reason
from memd.text.tokens import DefaultTokenEstimator

ROLES = {Origin.PERSON: "user", Origin.ASSISTANT: "assistant", Origin.TOOL: "tool"}


@dataclass(frozen=True)
class Said:
    """One memory that a nap makes, of a message that says the same."""

    text: str
    slot: str
    kind: NapKind = NapKind.DECISION
    origin: Origin = Origin.PERSON
    at: str | None = None
    gone: tuple[str, ...] = ()
    everywhere: bool = False


def digest(text: str) -> Said:
    return Said(text, "digest", NapKind.DIGEST, Origin.ASSISTANT)


async def napped(
    bed: Bed,
    *memories: Said,
    session_id: str = "talk",
    project_id: str | None = None,
    caller: Caller = ADA,
    messages: Sequence[dict[str, Any]] | None = None,
) -> NapOutcome:
    """Let memd store *memories* as what a nap of its own over *messages* distilled."""
    bed.clock.advance(minutes=1)
    heard = [
        {"role": ROLES[each.origin], "content": f"So: {each.text}", "timestamp": each.at}
        for each in memories
    ]
    given = heard if messages is None else messages
    parts = extract(read(given), rule=MemoryConsolidator(mention_share=0.1))
    made = tuple(
        NapMemory(
            each.text, each.kind, (place,), each.slot, each.origin, each.gone, each.everywhere
        )
        for place, each in enumerate(memories)
    )
    parts = replace(parts, facts=(), lessons=(), known_count=0, memories=made)
    ready = draft_memories(parts, DefaultTokenEstimator(), session_id)
    run_id = bed.house.ids.new()
    writing = NapTransaction(
        bed.house.ids,
        run_id,
        MemoryLevel.PERSISTENT,
        NapSource(given, session_id),
        ready,
        NapRequest(reason=Reason.ENDED.value),
    )
    by = replace(caller, session_id=session_id, project_id=project_id)
    kept = await bed.house.db.write(
        by, lambda conn: writing.run(conn, by, bed.clock.now_us()), batch=run_id
    )
    await bed.house.queue.drain()
    return kept
