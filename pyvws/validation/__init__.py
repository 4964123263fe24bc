"""Every published quantity against R: cases declared once, read by the tests and by the runner.

A case names a function of the package, the R function that states the same algorithm, and seeded
arguments for both. `runner.run` compares them and `report` prints the rows.
"""
