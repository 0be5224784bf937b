"""What everybody knows: facts with a version log, who may write them, time, and the graph.

Promises that no operation is lost or changed, that who may write is decided before
anything is written, and that no edge is shown without the text that says it.
"""
