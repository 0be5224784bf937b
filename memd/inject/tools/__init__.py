"""Memory tools for language models: definitions, calls and answers."""
