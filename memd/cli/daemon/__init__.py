"""The daemon: in the foreground or as a service, its profiles and statistics."""
