"""Operational records: what assistants did, cost and said to each other (SPEC 19).

Plain tables in the store's own file, one declaration for each entity (``entities.py``). It
promises that a table is made when its first record is written, that a record is there once its
save returns, and that no record is a memory: nothing here is recalled, ranked or forgotten.
"""
