"""The one file: schema, the only door, and all SQL, one module per table family.

The memory rows and their embeddings are the truth; FTS5 and vec0 tables are
caches by generation, rebuilt, never repaired. A write is one transaction at
synchronous=FULL and is acknowledged after COMMIT. This room never imports
``encode``: fingerprints and screened texts reach it as values.
"""
