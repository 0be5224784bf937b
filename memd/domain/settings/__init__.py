"""The settings: each model is a table of the settings file."""
