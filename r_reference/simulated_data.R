# The simulated data of the papers, drawn by R's own generators.

# Section 3.1 of Savitsky, Hu and Williams (2024): n Poisson counts under a seed.
poisson_counts <- function(seed, n, mu) {
  set.seed(seed)
  as.numeric(rpois(n, mu))
}

# Section 3.2: a two-component negative binomial mixture, one record at a time: the component by
# rmultinom, then the count in the mean and over-dispersion form.
negative_binomial_mixture <- function(seed, n, shares, mu, phi) {
  set.seed(seed)
  y <- numeric(n)
  for (i in seq_len(n)) {
    component <- which(rmultinom(1, 1, shares) == 1)
    y[i] <- MASS::rnegbin(1, mu, phi[component])
  }
  y
}
