"""What one record moves of a whole run, weights and searches too."""
