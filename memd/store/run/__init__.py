"""The ledger of naps and nights, and how to undo a run."""
