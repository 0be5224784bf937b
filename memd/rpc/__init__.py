"""What client and daemon share: framing, envelope, faults.

Those three and ``calling`` import the standard library only, so that a client starts in
milliseconds.
"""
