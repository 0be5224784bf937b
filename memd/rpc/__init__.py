"""What client and daemon say: framing, envelope, faults, methods.

Framing, envelope and faults import the standard library only, so that a client
starts in milliseconds.
"""
