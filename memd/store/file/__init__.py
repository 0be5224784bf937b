"""The file: opened, migrated, locked, copied, scrubbed."""
