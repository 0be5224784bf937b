"""Errors, clock, ids, limits, log and settings loader; independent of memories.

Every module is cheap to import. The ones that a client needs, such as errors and limits,
import the standard library only.
"""
