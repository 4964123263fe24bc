# Conditional tables: weighted counts, which are all that a Dirichlet prior needs of the records.
#
# Vector-weighted Mechanisms (2024), Equation 3, raises each record's likelihood to alpha_i. A record
# of pattern p and level l has the likelihood theta_pl, so the Dirichlet(a, ..., a) prior of theta_p
# becomes Dirichlet(a + n_p1, ..., a + n_pL). Self-contained.

# Quantity: n[p, l] = sum of alpha_i over the records with pattern p and level l, both counted from
# 0. The records are added one after the other.
weighted_counts <- function(pattern, level, weights, P, L) {
  n <- matrix(0, P, L)
  for (i in seq_along(pattern)) {
    n[pattern[i] + 1, level[i] + 1] <- n[pattern[i] + 1, level[i] + 1] + weights[i]
  }
  n
}

# Quantity: the log-likelihood of each record at one draw of the shares (patterns, levels).
log_likelihood <- function(pattern, level, share) {
  found <- numeric(length(pattern))
  for (i in seq_along(pattern)) {
    found[i] <- log(share[pattern[i] + 1, level[i] + 1])
  }
  found
}
