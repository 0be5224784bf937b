"""MCP on memd's socket: requests of assistants, answered with memd's own methods.

Texts that arrive this way have the origin ``assistant``, never ``person``. Texts in answers are
fenced. The package is loaded with the first MCP request.
"""
