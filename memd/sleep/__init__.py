"""Consolidate memories: naps for a full context window, nights for the whole store.

Originals are hidden, never changed. Each step is one small transaction that includes its record. A
run can be undone, or says why not. No language model is needed.
"""
