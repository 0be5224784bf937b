"""The documented backend protocols over memd's rooms: sqlite, inmemory, composite."""
