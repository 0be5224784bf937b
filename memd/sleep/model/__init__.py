"""Let a language model write in naps and nights, and check its answers; optional."""
