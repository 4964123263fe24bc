"""R beside Python: run the reference functions in R and bring their results over unchanged.

The import of this package loads neither rpy2 nor R; the first call of a function loads both.
"""
