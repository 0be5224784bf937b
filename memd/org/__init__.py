"""Organisational memory: facts with a version log, write access, time, and the graph.

No operation is lost or changed, access is checked before anything is written, and no edge is
shown without the text that states it.
"""
