"""The nouns of memd: frozen values, enums, settings trees, protocols. No I/O.

Every value is immutable, rejects NaN and infinity, and rejects unknown fields
(SPEC 0.4). Values are validated where they enter; inside the house they are
passed on as they are.
"""
