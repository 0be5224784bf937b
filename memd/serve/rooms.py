"""What the methods of the socket work with; ``house.py`` builds it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memd.domain.encoding import Embedder, Installed
from memd.serve.events import Events
from memd.serve.short_ids import ShortIds
from memd.serve.uploads import Uploads

if TYPE_CHECKING:
    from memd.archive.archival import Archival
    from memd.archive.archive import Archive
    from memd.archive.quarantine import Quarantine
    from memd.ingest.agents import Agents
    from memd.ingest.ingest import Ingest
    from memd.ingest.moving import Moving
    from memd.ingest.sessions import Sessions
    from memd.ingest.sharing import Sharing
    from memd.inject.brief import Briefs
    from memd.inject.files import Files
    from memd.inject.inject import Inject
    from memd.inject.synthesis import Synthesis
    from memd.learn.learn import Learn
    from memd.org.clients import Clients
    from memd.org.graph import Graph
    from memd.org.org import Org
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.recall.recall import Recall
    from memd.sleep.nap.naps import Naps
    from memd.sleep.night.night import Night
    from memd.sleep.night.rhythm import Rhythm
    from memd.sleep.wiki.exports import Wiki
    from memd.store.access.answers import Answers
    from memd.store.access.audit import Audit
    from memd.store.check.upkeep import Upkeep


@dataclass(frozen=True, slots=True)
class Rooms:
    """All rooms that the socket is a view of."""

    ingest: Ingest
    recall: Recall
    archive: Archive
    archival: Archival
    upkeep: Upkeep
    moving: Moving
    agents: Agents
    audit: Audit
    clients: Clients
    sessions: Sessions
    sharing: Sharing
    naps: Naps
    events: Events
    embedder: Embedder
    reranker: Installed
    graph: Graph
    org: Org
    owner: Owner
    review: Review
    files: Files
    inject: Inject
    briefs: Briefs
    learn: Learn
    quarantine: Quarantine
    synthesis: Synthesis
    wiki: Wiki
    sleep: Night
    rhythm: Rhythm
    uploads: Uploads = field(default_factory=Uploads)
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
