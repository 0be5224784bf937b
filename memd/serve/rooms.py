"""What the methods of the socket work with; ``house.py`` builds it.

Among them transcripts that arrive in parts: what has arrived of one waits in memory for its
last part: one for each connection, and of few connections at once. Where there are more,
the one that began first is given up, and told so with its next part.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from memd.backends.assembly import Assembly
from memd.base.errors import InvalidError, TooLargeError
from memd.base.limits import NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.domain.encoding import Installed
from memd.learn.uptake import UptakeCounter
from memd.serve.events import Events, Peer
from memd.serve.short_ids import ShortIds

if TYPE_CHECKING:
    from memd.ingest.switch import ModelSwitch
    from memd.inject.brief import Briefs
    from memd.inject.inject import Inject
    from memd.inject.synthesis import Synthesis
    from memd.inject.tools.files import Files
    from memd.learn.learn import Learn
    from memd.learn.lessons import Lessons
    from memd.learn.skills import Skills
    from memd.learn.tuning.tuning import Tuning
    from memd.llm.llm import LanguageModel
    from memd.org.clients import Clients
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.records.records import Records
    from memd.sleep.nap.naps import Naps
    from memd.sleep.night.night import Night
    from memd.sleep.night.rhythm import Rhythm
    from memd.sleep.wiki.exports import Wiki
    from memd.store.access.answers import Answers
    from memd.store.access.audit import Audit


class UploadState(NamedTuple):
    """How many characters have arrived, and the transcript if it is whole."""

    taken: int
    transcript: bytes | None


class Uploads:
    """The transcripts that are on their way, the one that began first in front."""

    def __init__(self) -> None:
        self._arriving: WeakKeyDictionary[Peer, _Upload] = WeakKeyDictionary()

    def add(self, peer: Peer, text: str, offset: int, *, more: bool) -> UploadState:
        """Keep a part that *peer* sent; return the whole transcript unless there is *more*.

        Raises InvalidError for a part that does not follow, TooLargeError for one too many.
        """
        upload = self._arriving.pop(peer, None)
        if upload is None or offset == 0:
            upload = _Upload()
        upload.add(text, offset)
        if not more:
            return UploadState(upload.chars, bytes(upload.raw))
        for oldest in list(self._arriving)[: 1 - TRANSCRIPTS_ARRIVING_MAX]:
            del self._arriving[oldest]
        self._arriving[peer] = upload
        return UploadState(upload.chars, None)


class _Upload:
    """What has come of a transcript so far."""

    def __init__(self) -> None:
        self.raw = bytearray()
        self.chars = 0

    def add(self, text: str, offset: int) -> None:
        if offset != self.chars:
            raise InvalidError(
                "this part does not follow what has arrived", field="offset", hint="begin again"
            )
        part = text.encode("utf-8", "replace")
        if len(self.raw) + len(part) > NAP_TRANSCRIPT_BYTES_MAX:
            raise TooLargeError(
                f"a transcript has at most {NAP_TRANSCRIPT_BYTES_MAX // 1_048_576} MiB",
                field="text",
                hint="hand over its end",
            )
        self.raw += part
        self.chars += len(text)


@dataclass(frozen=True)
class Rooms(Assembly):
    """All rooms of the daemon: those over its file, and what it adds to them."""

    audit: Audit
    clients: Clients
    naps: Naps
    events: Events
    reranker: Installed
    owner: Owner
    review: Review
    files: Files
    inject: Inject
    briefs: Briefs
    learn: Learn
    tuning: Tuning
    lessons: Lessons
    skills: Skills
    synthesis: Synthesis
    wiki: Wiki
    sleep: Night
    rhythm: Rhythm
    records: Records
    models: ModelSwitch | None = None
    """Without, the embedding model stays what it is."""
    llm: LanguageModel | None = None
    """Without, everything is done by rule (SPEC D8)."""
    uploads: Uploads = field(default_factory=Uploads)
    uptake: UptakeCounter | None = None
    """Without, nobody counts what answers take up."""
    shares: bool = True
    """Whether agents can share memories."""
    memories_max: int | None = None
    """How many memories an agent may have, None for as many as it likes."""
    answers: Answers | None = None
    """Without, long work is done anew for a key that was used."""
    short_ids: ShortIds | None = None
    """Without, ids are taken whole only."""
    background: tuple[Callable[[], Coroutine[Any, Any, Any]], ...] = ()
    """What runs beside the server until the daemon stops."""
