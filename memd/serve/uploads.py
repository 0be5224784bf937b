"""Transcripts that are uploaded in parts, which are collected in memory.

There is one upload per connection, and at most TRANSCRIPTS_ARRIVING_MAX at a time. One more
drops the oldest, whose client gets an error with its next part.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from memd.base.errors import InvalidError, TooLargeError
from memd.base.limits import NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.serve.events import Peer


class UploadState(NamedTuple):
    """The characters received so far, and the transcript in UTF-8 if it is complete, else None."""

    chars: int
    transcript: bytes | None


class Uploads:
    """The uploads in progress, oldest first."""

    def __init__(self) -> None:
        self._arriving: WeakKeyDictionary[Peer, _Upload] = WeakKeyDictionary()

    def add(self, peer: Peer, text: str, offset: int, *, more: bool) -> UploadState:
        """Add a part from *peer*; the state has the transcript unless *more* parts follow.

        A part with *offset* 0 starts a new upload. Raises InvalidError for a part out of order,
        TooLargeError if the transcript is too long; both drop the upload.
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
    """The received parts of one transcript."""

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
                hint="send its end",
            )
        self.raw += part
        self.chars += len(text)
