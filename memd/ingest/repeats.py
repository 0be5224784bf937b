"""Repetitions of memd's own texts in an assistant's turn (decision 0130).

Stored as new, such a text would be injected twice, in the assistant's
name, and a web text would gain the assistant's trust. A chunk that says nothing else is a
turn in passing, like one that states nothing (decision 0102).
"""

from __future__ import annotations

from dataclasses import replace

from memd.domain.caller import Caller
from memd.domain.enums import Origin, Passing
from memd.domain.ingest import IngestRequest
from memd.ingest.draft import Draft, Drafts, is_assistant, is_owner
from memd.store.file.database import Database
from memd.store.session import injections
from memd.text.repetition import KnownWords, remove_known
from memd.view.echo import find_fenced, strip_injected


async def load_known_words(
    db: Database, caller: Caller, request: IngestRequest
) -> KnownWords | None:
    """Return the words injected into the session of *request*; None for no turn of a session."""
    origin = request.origin
    if origin is None:
        origin = Origin.PERSON if is_owner(request.speaker, None) else Origin.ASSISTANT
    is_streamed = request.session_id is not None and not request.deliberate
    if not is_streamed or origin not in {Origin.PERSON, Origin.ASSISTANT}:
        return None
    if origin is Origin.PERSON or not is_assistant(request.speaker):
        return KnownWords(())
    assert request.session_id is not None
    injected = await db.read(injections.list_texts, caller.agent_id, request.session_id)
    return KnownWords([*injected, *find_fenced(request.text)])


def strip_fences(request: IngestRequest) -> IngestRequest:
    """Return *request* without memd's own texts, unless there is nothing else."""
    text = strip_injected(request.text)
    is_unchanged = text == request.text or not text.strip()
    return request if is_unchanged else request.model_copy(update={"text": text})


def mark_repeats(drafts: Drafts, known: KnownWords) -> Drafts:
    """Return *drafts*, with chunks of only known words marked as remarks in passing."""
    if not known:
        return drafts
    return replace(drafts, items=tuple(_mark_repeat(each, known) for each in drafts.items))


def _mark_repeat(draft: Draft, known: KnownWords) -> Draft:
    if draft.preference is not None or remove_known(draft.content, known).strip():
        return draft
    return replace(draft, passing=Passing.REMARK)
