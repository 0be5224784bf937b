"""Export and import of a whole profile as records that mean the same in another store.

What arrives is what left, dates and ids included, and nothing is there twice. An import never
overwrites what is newer here.
"""
