"""What an assistant says in a session is held against what memd told it there (decision 0130).

What it repeats is memd's own text: taken as new it would be told twice, in the assistant's
name, and a text of the web would become its word. What says nothing else is kept apart, as
what states nothing is (decision 0102).
"""

from __future__ import annotations

from dataclasses import replace

from memd.domain.caller import Caller
from memd.domain.enums import Origin, Passing
from memd.domain.ingest import IngestRequest
from memd.ingest.draft import Draft, Drafts, is_assistant, is_owner
from memd.store.file.database import Database
from memd.store.session import injections
from memd.text.restating import KnownWords, unsaid
from memd.view.echo import fenced_texts, spoken


async def known_words(db: Database, caller: Caller, request: IngestRequest) -> KnownWords | None:
    """Return what the session of *request* was told; None for what is no turn of a session."""
    origin = request.origin
    if origin is None:
        origin = Origin.PERSON if is_owner(request.speaker, None) else Origin.ASSISTANT
    streams = request.session_id is not None and not request.deliberate
    if not streams or origin not in {Origin.PERSON, Origin.ASSISTANT}:
        return None
    if origin is Origin.PERSON or not is_assistant(request.speaker):
        return KnownWords(())
    assert request.session_id is not None
    given = await db.read(injections.injected_texts, caller.agent_id, request.session_id)
    return KnownWords([*given, *fenced_texts(request.text)])


def without_fences(request: IngestRequest) -> IngestRequest:
    """Return *request* without what memd put into its text, unless there is nothing else."""
    text = spoken(request.text)
    same = text == request.text or not text.strip()
    return request if same else request.model_copy(update={"text": text})


def apart(drafted: Drafts, known: KnownWords) -> Drafts:
    """Return *drafted*, its chunks that say nothing but what was told kept apart, each whole."""
    if not known:
        return drafted
    return replace(drafted, items=tuple(_apart(each, known) for each in drafted.items))


def _apart(draft: Draft, known: KnownWords) -> Draft:
    if draft.preference is not None or unsaid(draft.content, known).strip():
        return draft
    return replace(draft, passing=Passing.REMARK)
