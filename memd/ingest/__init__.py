"""A text arrives and becomes memories. Acknowledged only after COMMIT, nothing lost."""
