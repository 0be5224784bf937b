"""Access control: agents, clients and the audit."""
