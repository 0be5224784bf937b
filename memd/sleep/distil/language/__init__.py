"""Patterns and word lists that classify sentences, in several languages."""
