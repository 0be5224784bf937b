"""What of a session is worth reading a week later: a few whole memories, and a digest.

Pure: a function of the messages alone. Promises that the same messages give the same
memories, that a longer session keeps those of its beginning, and bounds on how many
they are and how long. Start at ``distilled.py``.
"""
