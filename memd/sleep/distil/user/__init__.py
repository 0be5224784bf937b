"""What the user's words do: they decide, correct, wish, take back, ask to remember, or quote."""
