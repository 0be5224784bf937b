"""MCP on memd's socket: what assistants ask, answered by the methods that everybody calls.

Promises that what comes this way is the assistant's and never a person's, and that what
goes out is fenced. Loaded with the first request of an assistant, not before.
"""
