"""Session briefs: the context that a session gets at its beginning. No memory is written here."""
