"""What is suspicious about a text, and what follows from it: the one table of that policy. Pure.

A text is judged by where it came from, which the daemon knows, and by what it
looks like, which anybody can write. Nothing is refused and nothing is dropped:
what is set aside is stored, marked, shown to its owner and given back on a word.
A person's own text is never set aside (PROMISES H59); it is only remarked on.

Then what the owner sees of it, and texts that were screened and may be stored.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NamedTuple, NewType

from memd.domain.enums import MemoryCategory, MemoryState, Origin, Trust
from memd.domain.values import Name, Time, Value


class Flag(StrEnum):
    """What a text looks like."""

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
    """Not a look: the owner set it aside by hand."""


class Suspicion(NamedTuple):
    """What was seen in a text.

    *live* is what the text says itself; the rest of *flags* stands in quotes, in a text
    that speaks about attacks. *strong* leaves no doubt whatever the context.
    """

    flags: frozenset[Flag] = frozenset()
    live: frozenset[Flag] = frozenset()
    strong: frozenset[Flag] = frozenset()

    def joined(self, other: Suspicion) -> Suspicion:
        """Return what was seen in either of two texts."""
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
"""How far a text is trusted, by where it came from."""

FOREIGN: Final = frozenset({Origin.TOOL, Origin.WEB, Origin.IMPORT})
"""Where texts come from that neither the owner nor his assistant wrote."""

BURSTING: Final = frozenset({Origin.TOOL, Origin.WEB})
"""Whose texts come by themselves, and are counted by the minute."""

STREAMS: Final = frozenset({Origin.ASSISTANT, Origin.TOOL, Origin.WEB})
"""Whose texts the gate of importance judges: what streams by, told by nobody on purpose."""

TALKS: Final = frozenset({Origin.PERSON, Origin.ASSISTANT})
"""Who ask, want and acknowledge; what a page or a tool says is never taken for that."""


def mark(origin: Origin, trust: Trust) -> str:
    """Return what stands before an entry that is not the owner's, "" before his own.

    >>> mark(Origin.WEB, Trust.UNTRUSTED), mark(Origin.ASSISTANT, Trust.ASSISTED)
    ('[untrusted: web] ', '[assistant] ')
    """
    if trust is Trust.OWNER:
        return ""
    if trust is Trust.UNTRUSTED:
        return f"[untrusted: {origin}] "
    return "[imported] " if origin is Origin.IMPORT else ASSISTED_MARK


def mark_of_shared(origin: Origin, trust: Trust) -> str:
    """Return what stands before what another agent shares, which is never the owner's.

    >>> mark_of_shared(Origin.ASSISTANT, Trust.ASSISTED)
    '[shared] '
    """
    label = mark(origin, trust)
    return "[shared] " if label == ASSISTED_MARK else f"[shared] {label}"


def mark_of_role(role: str) -> str:
    """Return what stands before a message of a session, "" before what the user said."""
    if role in {"user", "human"}:
        return ""
    return ASSISTED_MARK if role == Origin.ASSISTANT else mark(Origin.TOOL, Trust.UNTRUSTED)


def mark_of_preference(origin: Origin, *, confirmed: bool) -> str:
    """Return what stands before a preference: "" when the owner said or confirmed it."""
    return "" if confirmed else f"[unconfirmed: {origin}] "


ASSISTED_MARK: Final = "[assistant] "
"""What stands before the words of a program that the owner uses."""

COMMANDING: Final = frozenset(
    {Flag.INSTRUCTION, Flag.TRIGGER, Flag.AUTHORITY, Flag.EXFILTRATION, Flag.ROLE}
)
"""What sets a text aside; the others are only remarked on."""


def is_quarantined(seen: Suspicion, origin: Origin) -> bool:
    """Return whether a text of *origin* that looks like *seen* is stored out of sight.

    >>> is_quarantined(Suspicion(live=frozenset({Flag.ROLE})), Origin.WEB)
    True
    """
    if origin is Origin.PERSON:
        return False
    signs = seen.live if origin in FOREIGN else seen.strong
    return not signs.isdisjoint(COMMANDING)


class Flagged(Value):
    """One suspicious memory. *text* is seen through the view: as it may be shown, not as it is."""

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


class Quarantined(Value):
    """What was set aside by hand: the memory, and the summaries that held its words."""

    id: Name
    removed: int = 0
    """Summaries, and facts of naps, that were made from it and are in the trash now."""


Screened = NewType("Screened", str)
"""A text that passed the secrets screen.

Only ``guard/secrets.py`` and the readers of rows make one.
"""

SecretsPolicy = Literal["redact", "refuse", "keep"]
"""What becomes of a secret that arrives: replaced, turned away, or kept and never shown."""
