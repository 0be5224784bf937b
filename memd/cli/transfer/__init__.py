"""What comes from elsewhere and goes there: import and export."""
