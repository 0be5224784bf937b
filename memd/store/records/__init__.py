"""SQL of the operational records: tables made on first use, each from its declaration."""
