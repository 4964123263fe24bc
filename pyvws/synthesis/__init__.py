"""The settings of a run, the run's table, and the loop of the run's fits."""
