"""The two pages of an output folder: a page for the disclosure board, and a public page."""
