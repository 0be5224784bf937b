"""Agents and clients, the audit, file paths, and idempotent writes."""
