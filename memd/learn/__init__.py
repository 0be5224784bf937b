"""Learn from outcomes: lessons of failures, patterns of work, skills, and a tuned recall."""
