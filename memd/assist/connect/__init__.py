"""Adds memd to the settings files of assistants, and removes it again.

No other byte changes, and a file that memd cannot parse is not touched. An assistant's own
command line is never run, because it rewrites the files.
"""
