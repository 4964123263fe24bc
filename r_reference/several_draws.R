# What several draws of one strict fit cost together: the exact composition of mechanisms of
# bounded range, Dong, Durfee and Rogers (2020). Self-contained.

# The delta of m draws at epsilon `total`, by a two-point mechanism whose log ratios are t and
# t - width, summed over the number of draws with the larger ratio.
delta_of_place <- function(t, total, width, m) {
  q <- (exp(width - t) - 1) / (exp(width - t) - exp(-t))
  found <- 0
  for (k in 0:m) {
    loss <- k * t + (m - k) * (t - width)
    if (loss > total) {
      found <- found + dbinom(k, m, q) * (1 - exp(total - loss))
    }
  }
  found
}

# The largest of these, over the places where it can be.
delta_of_worst <- function(total, width, m) {
  largest <- 0
  for (l in 0:m) {
    t <- (total + (l + 1) * width) / (m + 1)
    if (t < width) {
      largest <- max(largest, delta_of_place(t, total, width, m))
    }
  }
  largest
}

# Quantity: epsilon of m draws together at each delta, in whole steps of 2^-20 nats.
total_epsilon <- function(epsilon, draws, delta) {
  found <- numeric(length(delta))
  for (i in seq_along(delta)) {
    low <- 0
    high <- draws * epsilon
    for (step in 1:80) {
      middle <- (low + high) / 2
      if (delta_of_worst(middle, epsilon, draws) <= delta[i]) {
        high <- middle
      } else {
        low <- middle
      }
    }
    found[i] <- round(high * 2^20) / 2^20
  }
  found
}
