"""R beside Python: run the reference functions in R and bring their results over unchanged.

Importing this package loads neither rpy2 nor R; the first call does.
"""
