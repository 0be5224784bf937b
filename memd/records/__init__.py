"""Operational records: tasks, costs, messages and the like (SPEC 19).

Plain tables in the store's file, each declared once (``entities.py``). A table is created with its
first record, a record is committed when its save returns, and no record is a memory: nothing
here is recalled, ranked or forgotten.
"""
