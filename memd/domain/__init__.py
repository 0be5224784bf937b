"""Frozen values, enums, settings models and protocols. No I/O.

Every value is immutable and rejects NaN, infinity and unknown fields (SPEC 0.4). Values are
validated where they enter memd, and passed on unchanged inside it.
"""
