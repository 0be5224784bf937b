"""Words and signs by which it is told what a sentence does, in several languages."""
