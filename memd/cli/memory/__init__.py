"""What a person types about memories: add, find, change, take away, share."""
