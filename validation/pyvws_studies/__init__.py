"""The papers' studies, one a module."""
