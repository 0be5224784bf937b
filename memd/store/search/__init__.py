"""The full-text index and the vectors, and what the ranker reads."""
