"""SQL of the operational records: tables created on first use, each from its declaration."""
