"""Whether what is in the file is what was written."""
