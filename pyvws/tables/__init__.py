"""Modules that read and write tables, read formulas, make designs and cells, and order rows."""
