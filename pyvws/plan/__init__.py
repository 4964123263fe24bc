"""What a run does to which columns: made once, and what it refuses."""
