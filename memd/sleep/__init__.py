"""Memories are consolidated: naps for a full context window, nights for the whole store.

Promises that nothing is lost: originals are hidden, never changed, each step is
one small transaction with its record, and a run can be undone or says why not.
Needs no language model.
"""
