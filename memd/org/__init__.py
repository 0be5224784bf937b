"""Organisational memory: facts with a version log, write access, time, and the graph.

The log of operations is append-only. Access is checked before every write. An edge of the graph is
only shown together with the text that states it.
"""
