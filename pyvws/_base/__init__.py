"""Argument checks, declared settings, kernels, cores, resources, citations and folder locks."""
