"""The socket: server, connections, authentication, dispatch, and the methods."""
