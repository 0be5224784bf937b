"""Readers of assistants' usage files and transcripts, and the file watcher.

Formats are read leniently, contents are not trusted: a file that is too large, a link, or
another user's is not read. Never writes, never decides what to do.
"""
