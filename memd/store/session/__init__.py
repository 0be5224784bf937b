"""Sessions, their messages and context windows, and the memories injected into their prompts."""
