"""Functions that measure utility and match risks, and rules that combine estimates."""
