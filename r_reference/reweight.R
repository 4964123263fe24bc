# Re-weighting: raise the weights of records that sit below the database bound.
#
# Vector-weighted Mechanisms (2024): Equation 6 and Algorithm 3. Self-contained.

# alpha^w_i = k alpha_i Delta_{alpha,x} / Delta_{alpha,x_i}, at most 1. A weight of 0 stays 0: its
# record is out of the likelihood. A positive weight whose bound is 0 can rise to 1.
reweight <- function(weights, by_record, k) {
  database <- max(by_record)
  raised <- numeric(length(weights))
  for (i in seq_along(weights)) {
    if (weights[i] > 0) {
      if (by_record[i] > 0) {
        raised[i] <- min(1, k * weights[i] * (database / by_record[i]))
      } else {
        raised[i] <- 1
      }
    }
  }
  raised
}
