"""Classify the user's words: decisions, corrections, wishes, withdrawals, requests to remember."""
