"""Commands that run the daemon, in the foreground or as a service; profiles and statistics."""
