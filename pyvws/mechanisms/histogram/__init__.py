"""The perturbed histogram: bins, noise, draws."""
