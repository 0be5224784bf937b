"""``session.import``: a transcript, handed over in as many parts as it needs.

What has arrived of one waits in memory for its last part: one for each connection, and
of few connections at once. Where there are more, the one that began first is given up,
and told so with its next part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from memd.base.errors import InvalidError, TooLargeError
from memd.base.limits import NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.model.caller import Caller
from memd.model.sleep import ImportedSession
from memd.rpc.params_nap import ImportSession
from memd.serve.dispatch import Handler, peer_of_call
from memd.serve.events import Peer
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handler of recorded sessions."""
    return {"session.import": _Recorded(rooms).take}


@dataclass(slots=True)
class _Arrived:
    """What has come of a transcript so far."""

    raw: bytearray = field(default_factory=bytearray)
    chars: int = 0


class _Recorded:
    """The transcripts that are on their way, the one that began first in front."""

    def __init__(self, rooms: Rooms) -> None:
        self._naps = rooms.naps
        self._arriving: WeakKeyDictionary[Peer, _Arrived] = WeakKeyDictionary()

    async def take(self, caller: Caller, params: ImportSession) -> ImportedSession:
        """Keep a part, or nap over the whole when it is the last."""
        peer = peer_of_call()
        assert peer is not None
        arrived = self._arriving.pop(peer, None)
        if arrived is None or params.offset == 0:
            arrived = _Arrived()
        _add(arrived, params)
        if params.more:
            self._make_room()
            self._arriving[peer] = arrived
            return ImportedSession(taken=arrived.chars)
        made = await self._naps.import_session(
            caller,
            bytes(arrived.raw),
            session_id=params.session_id,
            cwd=params.cwd,
            dry_run=params.dry_run,
        )
        return made.model_copy(update={"taken": arrived.chars})

    def _make_room(self) -> None:
        for peer in list(self._arriving)[: 1 - TRANSCRIPTS_ARRIVING_MAX]:
            del self._arriving[peer]


def _add(arrived: _Arrived, params: ImportSession) -> None:
    if params.offset != arrived.chars:
        raise InvalidError(
            "this part does not follow what has arrived", field="offset", hint="begin again"
        )
    part = params.text.encode("utf-8", "replace")
    if len(arrived.raw) + len(part) > NAP_TRANSCRIPT_BYTES_MAX:
        raise TooLargeError(
            f"a transcript has at most {NAP_TRANSCRIPT_BYTES_MAX // 1_048_576} MiB",
            field="text",
            hint="hand over its end",
        )
    arrived.raw += part
    arrived.chars += len(params.text)
