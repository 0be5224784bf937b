"""Memory as tools of a language model: definitions, calls and answers."""
