"""Put away and brought back: archive, trash, restore, forget (SPEC D21).

Only ``forget`` and a trash whose time is up destroy anything.
"""
