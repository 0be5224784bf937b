"""The settings tree: each model a table of the settings file."""
