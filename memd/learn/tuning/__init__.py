"""Tuning on the owner's own data (SPEC 18, D17): pairs, hard negatives, training, a verdict.

It never writes a memory and stores no text, only ids and numbers. A result is deployed only if
it is better on held-out questions, and every deployment can be rolled back.
"""
