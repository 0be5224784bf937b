"""Track the context windows of assistants and trigger naps over their sessions."""
