"""The assistants' traces: what usage files and transcripts say, and the one watcher of them.

Promises to read leniently and to believe nothing: a file that is too large, a
link, or somebody else's is not read. Never writes, never decides what to do.
"""
