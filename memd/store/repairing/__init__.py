"""Repair of a damaged file: its pages are read without SQLite and its rows verified.

See pages.py and salvage.py. repair.py makes a new file of the intact rows.
"""
