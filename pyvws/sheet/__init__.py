"""What was found, as sheets of rows and notes, and the three ways in which a sheet is told."""
