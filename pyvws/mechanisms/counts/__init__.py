"""The modules of noisy counts: the budget, what is measured, the noise, and the posterior."""
