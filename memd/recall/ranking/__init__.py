"""The order of candidates: what is measured of them, how it is weighed, what is too alike."""
