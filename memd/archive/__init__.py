"""Archive, trash, restore, forget and quarantine (SPEC D21).

Only ``forget`` and an expired trash destroy memories.
"""
