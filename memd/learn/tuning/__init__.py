"""Tuning on the owner's own data (SPEC 18, D17): pairs, hard negatives, training, a verdict.

It never writes a memory and keeps no text: a run remembers ids and numbers. Nothing is put to
use that is not better on questions it was not trained on, and everything can be taken back.
"""
