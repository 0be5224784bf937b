"""Memories are found, ranked by one calibrated score, and cut to a budget.

Says nothing when nothing is relevant. Never writes inline.
"""
