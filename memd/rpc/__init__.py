"""The code that client and daemon share: envelope, calls, errors, and the remote backends.

What a client loads imports the standard library only, so that it starts in milliseconds.
"""
