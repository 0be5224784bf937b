"""The processes that assistants start (hooks, status line, MCP pump), and their configuration.

The processes are small: they import only the standard library, and neither a model nor the store.
The daemon makes all decisions. ``connect`` adds memd to the settings of assistants.
"""
