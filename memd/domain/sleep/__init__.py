"""Values of naps, nights and the upkeep of the file."""
