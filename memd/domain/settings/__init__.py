"""The settings: each model is one table of the settings file."""
