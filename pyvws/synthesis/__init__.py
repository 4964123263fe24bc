"""The settings of a run, its table, and the loop of its fits."""
