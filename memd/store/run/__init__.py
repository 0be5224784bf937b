"""The ledger of naps and nights, and how each is undone."""
