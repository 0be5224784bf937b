"""Errors, clock, ids, limits, log, settings loader; nothing about memories.

Everything here is cheap to import; the modules that a client needs (errors, limits) import
the standard library only.
"""
