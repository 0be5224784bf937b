"""Frozen values, enums, settings models and protocols. No I/O.

Every value is immutable, rejects NaN and infinity, and rejects unknown fields (SPEC 0.4).
Values are validated where they enter memd and passed on unchanged inside it.
"""
