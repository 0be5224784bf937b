"""Advice on tags when memories are stored (SPEC 7.15, D23). It never refuses.

With ``retrieval.non_inferable_only`` a memory without the tag is stored, found
and listed, but never injected: every such store is logged. Without the
setting the tag has no effect, and only an agent's first store without it is logged.
The log never has a memory's text.
"""

from __future__ import annotations

from memd.base import log
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.retrieval import NON_INFERABLE_TAG


def advise_on_tags(request: MemoryStoreRequest, *, is_required: bool = True) -> bool:
    """Return whether *request* has the tag ``non-inferable``; log one warning when not.

    *is_required*: whether without the tag no prompt will have it.
    """
    if NON_INFERABLE_TAG in request.metadata.tags:
        return True
    log.warning(
        "not tagged non-inferable: no prompt will have it"
        if is_required
        else "not tagged non-inferable",
        category=str(request.category),
        chars=len(request.content),
    )
    return False
