"""Naps: consolidation of one session's context window before it is lost (SPEC 6).

Promises that the messages, the memories made of them and the record of the run
are one transaction, that repeating a nap adds nothing, and that no language
model is needed. Start at ``nap.py``; ``transcript`` reads the messages, ``distil`` decides what
is worth storing.
"""
