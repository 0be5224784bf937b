"""What a text is made of: cleaned, cut into chunks, counted, routed, weighed.

Pure. Nothing here loads a model or opens a file.
"""
