"""The two pages of an output folder: one for the board, one that may leave."""
