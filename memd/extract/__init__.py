"""What a text says: things, statements and dates; and whether a turn states anything.

Rules of several languages, each in linear time. Pure.
"""
