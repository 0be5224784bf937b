"""Memory rows, from their first version to their erasure, and preferences."""
