"""The messages of a session: read, cleaned and shortened by the documented rules (SPEC 6).

Pure. Start at ``messages.py``; ``consolidator.py`` has the documented MemoryConsolidator.
"""
