"""Add memd to the settings files of assistants, and remove it again.

Only memd's own entries change, and a file that memd cannot parse is not written. The command line
of an assistant is never run, because it would rewrite its settings files.
"""
