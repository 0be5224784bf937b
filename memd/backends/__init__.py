"""The documented backend protocols, implemented over memd's rooms: sqlite, inmemory, composite."""
