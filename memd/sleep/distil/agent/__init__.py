"""What the agent did and said: its calls, what failed, what came of it and what is left."""
