"""Read the agent's side of a session: tool calls, failures, outcomes and open points."""
