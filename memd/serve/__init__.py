"""The socket: who may connect, what is read and written, which method answers."""
