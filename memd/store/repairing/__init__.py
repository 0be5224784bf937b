"""Salvaging a damaged file: pages are read past SQLite (pages.py), rows are judged (salvage.py).

A new file is made of them (repair.py).
"""
