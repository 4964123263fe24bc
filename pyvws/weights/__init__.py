"""Weights of records from their bounds and risks, and the search for the weights' constant."""
