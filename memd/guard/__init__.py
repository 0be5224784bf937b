"""What keeps secrets in and orders out: secrets, prompt injection, what leaves the process.

Pure; every text comes in and leaves through here.
"""
