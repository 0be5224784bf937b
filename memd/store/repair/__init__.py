"""Repair a damaged file: make a new file of its intact rows.

pages.py reads the damaged file without SQLite, salvage.py verifies its rows, repair.py makes the
new file.
"""
