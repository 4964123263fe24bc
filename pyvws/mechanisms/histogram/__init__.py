"""The modules of the perturbed histogram: bins, noise, and draws of synthetic records."""
