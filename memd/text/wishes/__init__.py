"""Wishes of a user that last, and sentences that wish for something else than before. Pure."""
