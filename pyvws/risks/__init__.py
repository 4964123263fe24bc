"""Identification risks of records, the weights from pairs of records, and balls of values."""
