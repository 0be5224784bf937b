"""Distil a session into a few memories and a digest that are useful a week later.

Pure: a function of the messages alone. The same messages give the same memories, a longer session
keeps those of its beginning, and their number and length are bounded. Start at ``distil.py``.
"""
