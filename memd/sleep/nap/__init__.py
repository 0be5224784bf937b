"""Naps: consolidation of one session's context window before it is lost (SPEC 6).

The messages, the memories made of them and the record of the run are written in one transaction.
Repeating a nap adds nothing, and no language model is needed. Start at ``nap.py``; ``transcript``
reads the messages, ``distil`` decides what is worth storing.
"""
