"""How memories become fewer: what is selected, and what a group of them becomes (SPEC 16)."""
