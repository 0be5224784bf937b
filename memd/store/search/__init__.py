"""The caches that a search reads: full-text index, vectors, contexts, and their upkeep."""
