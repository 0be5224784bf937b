"""The one SQLite file: its schema, its connections and all SQL, one folder per table family.

The memory rows and their embeddings are the truth; the FTS5 and vec0 tables are caches with a
generation, rebuilt and never repaired. A write is one transaction at synchronous=FULL, acknowledged
after COMMIT. This package never imports ``text`` or ``guard``: fingerprints and screened texts
arrive as values.
"""
