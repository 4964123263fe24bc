"""R's arithmetic and R's random numbers, in Python."""
