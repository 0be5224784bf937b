"""Parse, clean and shorten the messages of a session by the rules of the specification (SPEC 6).

Pure functions. Start at ``messages.py``; ``consolidator.py`` has the public MemoryConsolidator.
"""
