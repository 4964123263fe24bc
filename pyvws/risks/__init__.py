"""Identification risks: balls around outcomes, marginal and pairwise."""
