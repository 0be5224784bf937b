"""Assistants at home with memd: the pump that carries MCP to the daemon.

What an assistant starts is small: the standard library alone, no model, no store.
Everything is decided in the daemon.
"""
