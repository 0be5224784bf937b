"""Sentences in which somebody wishes for something else than before. Pure."""
