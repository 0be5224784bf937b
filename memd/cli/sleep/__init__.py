"""Commands for naps and nights, context windows, and the wiki."""
