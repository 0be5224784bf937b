"""What client and daemon share: framing, envelope, faults.

Those three and what a call takes import the standard library only, so that a client
starts in milliseconds.
"""
