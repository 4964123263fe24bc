"""The mechanisms, one in each module, and the protocol of the loop that fits them."""
