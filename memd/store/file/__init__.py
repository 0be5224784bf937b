"""The database file itself: open, migrate, back up, restore and scrub it."""
