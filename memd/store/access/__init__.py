"""Agents and clients, the audit, and writes that happen once."""
