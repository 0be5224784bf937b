"""What a person types. Thin: each command is one or two calls of the socket."""
