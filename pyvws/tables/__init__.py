"""Tables in and out, formulas, design matrices, cells, and the order of rows."""
