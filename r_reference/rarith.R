# R's own arithmetic on a numeric vector: what pyvws/r_numbers/rarith.py reproduces to the bit.
#
# Each function is R's, under a name that the cases can call. Self-contained: source this file and
# call. Works under Rscript and from Python alike.

# Sum of x, added in order in extended precision (R's sum).
arithmetic_sum <- function(x) {
  sum(x)
}

# Mean of x: a first mean, then its correction by the mean residual (R's mean).
arithmetic_mean <- function(x) {
  mean(x)
}

# Variance of x with divisor n - 1 (R's var).
arithmetic_var <- function(x) {
  var(x)
}

# Quantiles of x at p, type 7 of Hyndman and Fan (1996): R's default and the one that the listing of
# Vector-weighted Mechanisms (2024), Appendix 1, step 2, takes at `thresh`.
arithmetic_quantile <- function(x, p) {
  quantile(x, probs = p, type = 7, names = FALSE)
}

# Share of x at or below each of `points` (R's ecdf).
arithmetic_ecdf <- function(x, points) {
  distribution <- ecdf(x)
  distribution(points)
}
