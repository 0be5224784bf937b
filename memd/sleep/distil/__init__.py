"""Distil a session into what is worth reading a week later: a few whole memories and a digest.

Pure: a function of the messages alone. The same messages give the same memories, a longer session
keeps those of its beginning, and their number and length are bounded. Start at ``distil.py``.
"""
