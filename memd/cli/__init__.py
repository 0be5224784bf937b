"""The command line. Most commands make one or two calls of the daemon and print the answer."""
