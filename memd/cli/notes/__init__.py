"""Import of notes: find files, parse them and send them. Files are only read."""
