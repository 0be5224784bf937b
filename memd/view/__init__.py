"""One way out: every text for a prompt or a terminal passes here.

Pure, standard library only. Stored bytes are never changed; only the view is.
"""
