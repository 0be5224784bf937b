"""A whole profile as records that mean the same in another store, out and in.

Promises that what arrives is what left, dates and ids included, and that nothing is
there twice. Never overwrites what is newer here.
"""
