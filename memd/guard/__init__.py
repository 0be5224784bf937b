"""Screen texts: replace secrets, detect prompt injection, redact what leaves the process.

Pure. Every text passes here when it is stored and again when it leaves.
"""
