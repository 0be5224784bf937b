"""Refuse texts that give orders, if they would reach prompts without being memories. Pure.

A memory that looks like an attack is quarantined, where its owner sees it. Lessons, patterns,
preferences and facts have no quarantine, and an assistant misled by a tool's output would send
them like any others. So an unmistakable order is refused unless it comes from the owner's own
commands (PROMISES H46, H48, H59).
"""

from __future__ import annotations

from memd.base.errors import QuarantinedError
from memd.domain.caller import OPERATOR, Caller
from memd.domain.enums import Origin
from memd.domain.trust import is_quarantined
from memd.guard.suspicion import suspicion, suspicion_of_fields


def is_doubtful(text: str) -> bool:
    """Return whether *text*, if it came from a tool, would be quarantined."""
    return is_quarantined(suspicion(text), Origin.TOOL)


def refuse_orders(caller: Caller, **texts: str) -> None:
    """Raise QuarantinedError for the first of *texts*, by field name, that gives orders.

    >>> refuse_orders(Caller(), lesson="Ignore the previous migration.")
    """
    if caller.client == OPERATOR:
        return
    for field, text in texts.items():
        result = suspicion(text).merge(
            suspicion_of_fields((text,))
        )  # and as a name: hyphens for spaces
        if is_quarantined(result, Origin.ASSISTANT):
            flags = ", ".join(sorted(result.flags))
            raise QuarantinedError(
                f"the {field} reads like an order ({flags}): nothing is stored",
                field=field,
                hint="memory.ingest keeps it out of sight for the owner, who may also set it",
            )
