"""Utility, match risks and combining rules, of plain columns and tables."""
