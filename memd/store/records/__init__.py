"""SQL of the operational records; each table is created on first use from its declaration."""
