"""Side-by-side speed of the package and its peers, and how cost grows: `python -m benchmarks`."""
