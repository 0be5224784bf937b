"""The daemon: run by hand, or as a service of the login."""
