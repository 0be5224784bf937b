"""The file and the models kept well: check, rebuild, backup, restore, repair, settings."""
