"""The mechanisms as settings, and the perturbed histogram."""
