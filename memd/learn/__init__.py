"""memd gets better: what worked, what did not, and the patterns that repeat."""
