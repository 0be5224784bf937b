"""Set and end the preferences that texts state, within the transaction that stores the texts."""

from __future__ import annotations

from dataclasses import dataclass

from memd.domain.enums import MemoryLevel, Origin
from memd.ingest.draft import Draft, StatedPreference
from memd.ingest.filing import Filing
from memd.ingest.withdrawals import without_withdrawn
from memd.store.file.connect import Writing
from memd.store.memory import preferences
from memd.store.memory.preferences import NewPreference, StatingMemory, Wording
from memd.store.memory.rows import MemoryRow
from memd.text.preference import project_preference_name


@dataclass(frozen=True, slots=True)
class PreferenceRows:
    """The preferences of one agent.

    *replaced* collects, by key, the memories that state an old value; the caller archives them.
    """

    conn: Writing
    filing: Filing
    replaced: dict[int, StatingMemory]

    def set(self, stated: StatedPreference, row: MemoryRow, key: int) -> str | None:
        """Set the preference that a chunk states; return its name, None if it was not set.

        A value that was stated later is kept, and this chunk's memory is superseded instead. Values
        from programs without a key never win against the owner's: then the owner's value is kept,
        and the other one is only a memory.
        """
        filing, (name, value, token_count) = self.filing, stated
        if row.level is MemoryLevel.PROJECT and filing.project_id is not None:
            name = project_preference_name(value, filing.project_id)
        said_us = self._said_us(row)
        later = preferences.find_later(
            self.conn, filing.agent_key, name, said_us, confirmed=filing.is_known
        )
        if later is not None:
            if later != value:
                self.replaced[key] = StatingMemory(key, has_set_it=False)
            return None
        confidence = 1.0 if row.importance is None else row.importance
        new = self._new(name, Wording(value, token_count), confidence, key)
        old = preferences.put(self.conn, filing.agent_key, new, said_us)
        if old is None:
            return None
        self.replaced.update((memory.memory_key, memory) for memory in old)
        self.replaced.pop(key, None)
        return name

    def take_back(self, draft: Draft, row: MemoryRow) -> None:
        """Remove the preferences that the owner takes back, and archive memories that state them.

        Of a list of wishes the others stay. Nothing is removed by a text that is older than the
        preference or for one session or project. A nap's text must not come here: its undo could
        not restore the row. A program without a key cannot remove a preference that the owner
        stated or confirmed.
        """
        if row.level is not MemoryLevel.PERSISTENT:
            return
        conn, agent_key, is_known = self.conn, self.filing.agent_key, self.filing.is_known
        said_us = self._said_us(row)
        current = preferences.list_values(conn, agent_key, said_us, confirmed=is_known)
        for name, (value, token_count) in current:
            left = without_withdrawn(draft.content, value)
            if left == value:
                continue
            stating = preferences.list_stating(conn, agent_key, name)
            self.replaced.update((memory.memory_key, memory) for memory in stating)
            if left:
                new = self._new(name, Wording(left, token_count))
                preferences.put(conn, agent_key, new, said_us)
            else:
                preferences.delete(conn, agent_key, name, self.filing.now_us)

    def _new(
        self, name: str, wording: Wording, confidence: float = 1.0, key: int | None = None
    ) -> NewPreference:
        """Return a preference of the owner's, whose texts alone state preferences."""
        filing = self.filing
        confirmed_at_us = filing.now_us if filing.is_known else None
        source = filing.ids.salt(), Origin.PERSON, filing.client_key, confirmed_at_us
        return NewPreference(name, wording.value, confidence, wording.token_count, key, *source)

    def _said_us(self, row: MemoryRow) -> int:
        """Return when the text of *row* was said: at most now, and now if unknown."""
        now_us = self.filing.now_us
        return now_us if row.occurred_at_us is None else min(row.occurred_at_us, now_us)
