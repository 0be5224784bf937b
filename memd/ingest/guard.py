"""Advice at the boundary where memories are stored (SPEC 7.15, D23). It never refuses.

With ``retrieval.non_inferable_only`` a memory without the tag is stored, found
and listed, but never put into a prompt. Whoever stores one is told once, in the
log, which never has a memory's text.
"""

from __future__ import annotations

from memd.base import log
from memd.model.memory import MemoryStoreRequest
from memd.model.retrieval import NON_INFERABLE_TAG


def advise_on_tags(request: MemoryStoreRequest) -> bool:
    """Return whether *request* has the tag ``non-inferable``; log one warning when not."""
    if NON_INFERABLE_TAG in request.metadata.tags:
        return True
    log.warning(
        "not tagged non-inferable: no prompt will have it",
        category=str(request.category),
        chars=len(request.content),
    )
    return False
