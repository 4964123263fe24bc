"""The mechanisms, one a module, and what they know of the loop that fits them."""
