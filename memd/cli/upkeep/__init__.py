"""Commands for maintenance: checks, backups, repairs, models and settings."""
