"""Archive, trash, restore, forget and quarantine (SPEC D21).

Only ``forget`` and a trash whose time is up destroy anything.
"""
