"""Argument checks, kernels, cores, resources, citations and folder locks."""
