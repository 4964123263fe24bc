"""What a release costs, and the words that say so."""
