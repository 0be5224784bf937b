"""Session briefs: what a session is told before it asks; nothing here writes memories."""
