"""Extract the environment of a project: commands that passed, and where things are."""
