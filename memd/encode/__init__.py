"""Text understood: clean, chunk, tokens, embed, importance, route, secrets.

No database and no clock. Only ``embed.py`` loads the model, only ``secrets.py``
makes ``Screened`` texts.
"""
