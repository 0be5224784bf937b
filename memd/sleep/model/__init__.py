"""What a language model writes in naps and nights, and how it is checked; loaded with one only."""
