"""What a caller may read, by the rules of a moment and by today's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.settings_org import OrgRules
from memd.org.access import readable
from memd.store.file.connect import Reading
from memd.store.org import rules

ReadRules = Mapping[OrgFactCategory, SeniorityLevel]


@dataclass(frozen=True)
class Sight:
    """The rules since when, today's, and who asks."""

    since_us: Sequence[int]
    logged: Sequence[ReadRules]
    today: ReadRules
    caller: Caller
    _known: dict[int, frozenset[OrgFactCategory]] = field(default_factory=dict)

    def at(self, known_us: int) -> frozenset[OrgFactCategory]:
        """Return the categories that the caller may read of what was known at *known_us*."""
        place = bisect_right(self.since_us, known_us)
        if place not in self._known:
            then = [self.logged[place - 1]] if place else []
            self._known[place] = readable([self.today, *then], self.caller)
        return self._known[place]


def sight(conn: Reading, today: ReadRules, caller: Caller) -> Sight:
    """Return what *caller* may read, now and by every set of rules before."""
    logged = rules.logged(conn)
    return Sight(
        since_us=[at_us for at_us, _ in logged],
        logged=[OrgRules.model_validate_json(text).read for _, text in logged],
        today=today,
        caller=caller,
    )
