# The simulated data of the papers, drawn by R's own generators.

# R's default kinds, whatever the session has used before.
from_seed <- function(seed) set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")

# Section 3.1 of Savitsky, Hu and Williams (2024): n Poisson counts under a seed.
poisson_counts <- function(seed, n, mu) {
  from_seed(seed)
  as.numeric(rpois(n, mu))
}

# Section 3.2: a two-component negative binomial mixture, one record at a time: the component by
# rmultinom, then the count in the mean and over-dispersion form.
negative_binomial_mixture <- function(seed, n, shares, mu, phi) {
  from_seed(seed)
  y <- numeric(n)
  for (i in seq_len(n)) {
    component <- which(rmultinom(1, 1, shares) == 1)
    y[i] <- MASS::rnegbin(1, mu, phi[component])
  }
  y
}

# Section 2.4 of Hu, Savitsky and Williams (2024, Risk-Efficient): the same in other shares.
risk_efficient_counts <- function(seed, n) {
  negative_binomial_mixture(seed, n, c(0.7, 0.3), 100, c(20, 5))
}

# Skewed proportions.
beta_proportions <- function(seed, n, shape1, shape2) {
  from_seed(seed)
  rbeta(n, shape1, shape2)
}
