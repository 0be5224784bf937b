"""Naps, nights and the upkeep of the file: what is asked and what is reported."""
