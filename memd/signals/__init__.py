"""Read the usage files and transcripts of assistants, and watch usage files for changes.

Formats are read leniently, and contents are not trusted. A usage file that is too large, a link, or
a file of another user is not read. The package never writes to these files.
"""
