"""MCP on memd's socket: requests of assistants, answered by memd's own methods.

Texts that arrive this way have the origin ``assistant``, never ``person``; texts that leave
are fenced. Loaded with the first MCP request.
"""
