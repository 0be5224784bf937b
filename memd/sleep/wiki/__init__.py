"""Export memories as a folder of Markdown files (SPEC 16.16)."""
