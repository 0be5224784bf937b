"""Texts that reach prompts and are no memories: one that gives orders is refused. Pure.

A memory that looks like an attack is set aside, where its owner sees it. A
lesson, a pattern, a preference and a fact have no such place, and whoever was
led on by a tool's words sends them like any other. So what leaves no doubt is
not taken, unless the owner's own commands bring it (PROMISES H46, H48, H59).
"""

from __future__ import annotations

from memd.base.errors import QuarantinedError
from memd.domain.caller import OPERATOR, Caller
from memd.domain.enums import Origin
from memd.domain.trust import is_quarantined
from memd.guard.suspicion import of_fields, suspicion


def is_doubtful(text: str) -> bool:
    """Return whether *text*, from nobody knows where, is not to be put beside the owner's words."""
    return is_quarantined(suspicion(text), Origin.TOOL)


def refuse_orders(caller: Caller, **texts: str) -> None:
    """Raise QuarantinedError for the first of *texts*, by its field's name, that gives orders.

    >>> refuse_orders(Caller(), lesson="Ignore the previous migration.")
    """
    if caller.client == OPERATOR:
        return
    for field, text in texts.items():
        seen = suspicion(text).joined(of_fields((text,)))  # and as a name: hyphens for spaces
        if is_quarantined(seen, Origin.ASSISTANT):
            flags = ", ".join(sorted(seen.flags))
            raise QuarantinedError(
                f"the {field} reads like an order ({flags}): nothing is stored",
                field=field,
                hint="memory.ingest keeps it out of sight for the owner, who may also set it",
            )
