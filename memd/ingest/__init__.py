"""Turn texts into memories; a receipt is returned only after COMMIT."""
