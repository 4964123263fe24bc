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

# The smallest number of one decimal that is not below the figure.
up_to_a_tenth <- function(figure) {
  tenths <- floor(10 * figure)
  while (tenths / 10 < figure) {
    tenths <- tenths + 1
  }
  tenths / 10
}

# Epsilon at deltas 1e-6 and 1e-9, and rho of zCDP, of draws of range `epsilon`; a first stage and a
# noisy number of records are added to them.
several_draws <- function(epsilon, draws, stage, noise) {
  totals <- total_epsilon(epsilon, draws, c(1e-6, 1e-9)) + stage + noise
  c(
    up_to_a_tenth(totals[1]), up_to_a_tenth(totals[2]),
    draws * epsilon^2 / 8 + stage^2 / 8 + noise^2 / 2
  )
}

# Quantity: what a strict statement says of several draws: for a record left out, whose figures
# stand on top too, and for one replaced.
draws_by_delta <- function(outcome, mean, log_scale, epsilon, datasets, stage, noise) {
  left_out <- several_draws(epsilon, datasets, stage, noise)
  c(left_out[1:2], left_out, several_draws(2 * epsilon, datasets, 2 * stage, 0))
}
