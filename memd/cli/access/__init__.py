"""Who may do what, and who did: agents, clients, the audit."""
