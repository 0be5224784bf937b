"""Where things are and how they are run: commands that passed, and what is said of places."""
