# Weights that aim at epsilon: out of the fit above epsilon / 2, or down to it.
#
# Mechanisms for Global Differential Privacy (2022): Weighted-epsilon and downscaling, their details
# inferred. Self-contained.

# Quantity: a weight of 0 where the record's bound exceeds epsilon / 2.
weighted_epsilon_weights <- function(weights, by_record, epsilon) {
  for (i in seq_along(weights)) {
    if (by_record[i] > epsilon / 2) {
      weights[i] <- 0
    }
  }
  weights
}

# Quantity: psi_i alpha_i, psi_i = min(1, (epsilon / 2) / bound). A record without a finite bound is
# out.
downscale <- function(weights, by_record, epsilon) {
  for (i in seq_along(weights)) {
    if (by_record[i] > epsilon / 2) {
      weights[i] <- weights[i] * (epsilon / 2 / by_record[i])
    }
  }
  weights
}
