"""Import of notes: finding files and parsing them. Reads files, never writes one."""
