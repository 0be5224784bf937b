"""What assistants start: hooks, status line, MCP pump; and ``memd connect``, which sets them up.

These processes are small: the standard library alone, no model, no store. The daemon decides
everything.
"""
