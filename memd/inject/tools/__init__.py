"""Memory as tools of a model: what it may call, and what it is answered."""
