"""The language model over the socket: what it is used for."""
