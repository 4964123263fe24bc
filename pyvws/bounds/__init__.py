"""Lipschitz bounds of records and of the database."""
