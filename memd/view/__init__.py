"""Rendering of texts for prompts and terminals: every text that is shown passes here.

Pure, standard library only. Stored bytes are never changed, only the view of them.
"""
