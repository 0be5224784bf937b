"""A person's notes: which files are read, and what they say. Reads files, never writes one."""
