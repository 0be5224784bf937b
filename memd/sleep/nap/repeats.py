"""An assistant's turn that stands as a memory, and that a nap tells too, is told once.

What was streamed to memd is memories already; a nap composes its own of the same words. The
turn goes to the archive, superseded, when it says nothing beyond what the nap's memories say;
the run's ledger brings it back. Turns with more in them stay, and so does what a person
said or handed over on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memd.base.ids import Ids
from memd.domain.enums import ArchiveReason
from memd.sleep.distil.phrases import NARRATION
from memd.sleep.distil.prose import sentences
from memd.sleep.nap.replacing import NapTarget
from memd.store.memory import removal
from memd.store.run import runs
from memd.store.session import turns
from memd.text.restating import KnownWords

TURNS_MAX = 500
_SPARE = 1.5
"""A turn of so much more characters than all that was told says more."""


def move_to_archive(place: NapTarget, ids: Ids, texts: Sequence[str]) -> int:
    """Supersede the turns of the place's session that only say what the *texts* say.

    Returns how many. A nap's undoing brings them back.
    """
    if place.session_key is None or not texts:
        return 0
    found = turns.of_assistants(place.conn, place.session_key, TURNS_MAX)
    keys = repeating(found, texts)
    if keys:
        before = runs.images(place.conn, keys)
        # Not as by an owner's word: what was made of a turn, this nap's memory too, stays.
        removal.archive(place.conn, keys, ArchiveReason.SUPERSEDED, place.now_us, new_id=ids.new)
        runs.note(place.conn, place.run_key, keys, runs.MOVED, before)
    return len(keys)


def repeating(found: Iterable[tuple[int, str]], texts: Sequence[str]) -> list[int]:
    """Return the keys of those *found*, by key and text, of which the *texts* say all.

    >>> repeating([(1, "Let me see. The port of the stage is 8443."), (2, "It is 8443 and 9000.")],
    ...           ["Outcome: The port of the stage is 8443."])
    [1]
    """
    told = KnownWords(texts)
    room = _SPARE * sum(map(len, texts))
    return [key for key, text in found if len(text) <= room and _is_told(text, told)]


def _is_told(text: str, told: KnownWords) -> bool:
    says = [each.text for each in sentences(text) if not NARRATION.match(each.text)]
    return bool(says) and all(told.says(each) for each in says)
