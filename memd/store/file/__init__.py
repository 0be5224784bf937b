"""Everything about the database file itself: open, migrate, lock, back up, restore, scrub."""
