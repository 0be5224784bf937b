"""Transcripts that arrive in parts.

What has arrived of one waits in memory for its last part: one for each connection, and of few
connections at once. Where there are more, the one that began first is given up, and told so
with its next part.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from memd.base.errors import InvalidError, TooLargeError
from memd.base.limits import NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.serve.events import Peer


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
