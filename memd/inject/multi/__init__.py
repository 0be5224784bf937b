"""Memory of several models at work together (SPEC 14)."""
