"""The floor of the house: errors, clock, ids, limits, log, settings loader.

Knows nothing of memories. Everything here is cheap to import; what a client
needs (errors, limits) imports the standard library only.
"""
