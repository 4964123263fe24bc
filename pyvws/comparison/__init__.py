"""Compare mechanisms, constants and epsilons on one table, and choose among them."""
