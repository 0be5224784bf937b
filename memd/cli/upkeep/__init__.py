"""Maintenance: checks, rebuilds, backups, repairs, models and settings."""
