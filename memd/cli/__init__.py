"""The command line. Thin: each command is one or two calls of the socket."""
