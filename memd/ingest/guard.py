"""Advice at the boundary where memories are stored (SPEC 7.15, D23). It never refuses.

With ``retrieval.non_inferable_only`` a memory without the tag is stored, found
and listed, but never put into a prompt: each such store is warned of. Without the
setting the tag decides nothing, so an agent's first store without it is, and no other.
The log never has a memory's text.
"""

from __future__ import annotations

from memd.base import log
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.retrieval import NON_INFERABLE_TAG


def advise_on_tags(request: MemoryStoreRequest, *, decides: bool = True) -> bool:
    """Return whether *request* has the tag ``non-inferable``; log one warning when not.

    *decides*: whether without the tag no prompt will have it.
    """
    if NON_INFERABLE_TAG in request.metadata.tags:
        return True
    log.warning(
        "not tagged non-inferable: no prompt will have it"
        if decides
        else "not tagged non-inferable",
        category=str(request.category),
        chars=len(request.content),
    )
    return False
