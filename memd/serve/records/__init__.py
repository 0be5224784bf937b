"""The methods of operational records, made from declarations; loaded with the first call."""
