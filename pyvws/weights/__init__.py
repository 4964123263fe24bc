"""Weights from bounds and risks, and the search for a constant."""
