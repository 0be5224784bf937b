"""Commands for memories, preferences, prompts, lessons and the tuning of recall."""
