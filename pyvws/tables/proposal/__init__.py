"""What might be public of a table, proposed from its records for review."""
