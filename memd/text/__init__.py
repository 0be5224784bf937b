"""Texts: cleaned, chunked, counted, routed, scored.

Pure. Nothing here loads a model or opens a file other than a vocabulary.
"""
