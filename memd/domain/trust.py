"""The policy for suspicious texts: signs of an attack, trust by origin, quarantine. Pure.

Whether a text is quarantined depends on its origin, which the daemon knows, and on signs of an
attack in it. No text is refused or dropped: a quarantined one is stored, flagged, and shown to
the owner, who can release it. A person's own text is only flagged (PROMISES H59).
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Final, Literal, NamedTuple, NewType

from memd.domain.enums import MemoryCategory, MemoryState, Origin, Trust
from memd.domain.values import Name, Time, Value


class Flag(StrEnum):
    """A sign of an attack in a text."""

    INSTRUCTION = "instruction_like"
    TRIGGER = "conditional_trigger"
    ROLE = "role_marker"
    HIDDEN = "hidden_text"
    TOOL_CALL = "tool_call"
    AUTHORITY = "authority_claim"
    FENCE = "fence_tag"
    EXFILTRATION = "exfiltration"
    STUFFING = "keyword_stuffing"
    BURST = "burst"
    OWNER = "owner"
    """Not a sign in the text: the owner quarantined it by hand."""


class Suspicion(NamedTuple):
    """The signs of an attack in a text.

    *flags* are all of them. *live* ones are stated by the text itself; the others are quoted in
    a text about attacks. *strong* ones are conclusive in any context.
    """

    flags: frozenset[Flag] = frozenset()
    live: frozenset[Flag] = frozenset()
    strong: frozenset[Flag] = frozenset()

    def merge(self, other: Suspicion) -> Suspicion:
        """Return the union of the signs in two texts."""
        if not other.flags:
            return self
        return Suspicion(
            self.flags | other.flags, self.live | other.live, self.strong | other.strong
        )


NOTHING: Final = Suspicion()

TRUST: Final = {
    Origin.PERSON: Trust.OWNER,
    Origin.ASSISTANT: Trust.ASSISTED,
    Origin.IMPORT: Trust.ASSISTED,
    Origin.TOOL: Trust.UNTRUSTED,
    Origin.WEB: Trust.UNTRUSTED,
}
"""The trust in a text, by its origin."""

FOREIGN: Final = frozenset({Origin.TOOL, Origin.WEB, Origin.IMPORT})
"""Origins of texts that neither the owner nor the owner's assistant wrote."""

BURSTING: Final = frozenset({Origin.TOOL, Origin.WEB})
"""Origins whose texts arrive without anybody asking for it; they are limited per minute."""

STREAMS: Final = frozenset({Origin.ASSISTANT, Origin.TOOL, Origin.WEB})
"""Origins of streams, to which the importance gate applies."""

TALKS: Final = frozenset({Origin.PERSON, Origin.ASSISTANT})
"""Origins of conversations: only their turns may be turns in passing."""


@cache
def mark(origin: Origin, trust: Trust) -> str:
    """Return the mark before an entry in a prompt, "" for the owner's own text.

    >>> mark(Origin.WEB, Trust.UNTRUSTED), mark(Origin.ASSISTANT, Trust.ASSISTED)
    ('[untrusted: web] ', '[assistant] ')
    """
    if trust is Trust.OWNER:
        return ""
    if trust is Trust.UNTRUSTED:
        return f"[untrusted: {origin}] "
    return "[imported] " if origin is Origin.IMPORT else ASSISTED_MARK


@cache
def mark_of_shared(origin: Origin, trust: Trust) -> str:
    """Return the mark before a shared memory in a prompt, which is never the owner's own.

    >>> mark_of_shared(Origin.ASSISTANT, Trust.ASSISTED)
    '[shared] '
    """
    label = mark(origin, trust)
    return "[shared] " if label == ASSISTED_MARK else f"[shared] {label}"


def mark_of_role(role: str) -> str:
    """Return the mark before a message of a session, "" for the user's."""
    if role in {"user", "human"}:
        return ""
    return ASSISTED_MARK if role == Origin.ASSISTANT else mark(Origin.TOOL, Trust.UNTRUSTED)


def mark_of_preference(origin: Origin, *, confirmed: bool) -> str:
    """Return the mark before a preference, "" if the owner stated or confirmed it."""
    return "" if confirmed else f"[unconfirmed: {origin}] "


ASSISTED_MARK: Final = "[assistant] "
"""The mark before a text of the owner's assistant."""

COMMANDING: Final = frozenset(
    {Flag.INSTRUCTION, Flag.TRIGGER, Flag.AUTHORITY, Flag.EXFILTRATION, Flag.ROLE}
)
"""Signs for which a text is quarantined; the others only flag it."""


def is_quarantined(suspicion: Suspicion, origin: Origin) -> bool:
    """Return whether a text of *origin* with these signs is quarantined.

    >>> is_quarantined(Suspicion(live=frozenset({Flag.ROLE})), Origin.WEB)
    True
    """
    if origin is Origin.PERSON:
        return False
    signs = suspicion.live if origin in FOREIGN else suspicion.strong
    return not signs.isdisjoint(COMMANDING)


class FlaggedMemory(Value):
    """One suspicious memory. *text* is rendered by ``view``, not the stored text itself."""

    id: Name
    agent_id: Name
    flags: tuple[Flag, ...]
    state: MemoryState
    origin: Origin
    trust: Trust
    category: MemoryCategory
    client: Name | None = None
    session_id: Name | None = None
    source: Name | None = None
    flagged_at: Time
    released_at: Time | None = None
    text: str


class QuarantineResult(Value):
    """The result of quarantining by hand: the memory, and the removed summaries of it."""

    id: Name
    removed: int = 0
    """Summaries, and facts of naps, that were made from it and moved to the trash."""


Screened = NewType("Screened", str)
"""A text whose secrets were handled, so that it may be stored.

Only ``guard/secrets.py`` and functions that read rows create one.
"""

SecretsPolicy = Literal["redact", "refuse", "keep"]
"""What to do with a secret in a text: replace it, refuse the text, or store it. Answers never
show a stored secret."""
