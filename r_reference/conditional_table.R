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

# Quantity: the median of the largest -log share of S draws from Beta(own, others). All S shares lie
# above x with probability 1/2 where one lies below with probability 1 - 2^(-1/S).
median_maxima <- function(own, others, S) {
  below <- -expm1(-log(2) / S)
  found <- numeric(length(own))
  for (i in seq_along(own)) {
    found[i] <- -log(qbeta(below, own[i], others[i]))
  }
  found
}

# Quantity: the log-likelihood of each record at one draw of the shares (patterns, levels).
log_likelihood <- function(pattern, level, share) {
  found <- numeric(length(pattern))
  for (i in seq_along(pattern)) {
    found[i] <- log(share[pattern[i] + 1, level[i] + 1])
  }
  found
}

# Quantity: the log density of two conditional tables under a clamp, at one draw of their shares. The
# shares are those of gamma variables of sum 1 by pattern, each of shape concentration / L. Each
# record's weighted sum of log shares stays within [-epsilon, 0].
clamped_density <- function(pattern, level, share, other_pattern, other_level, other_share,
                            weights, epsilon, concentration) {
  value <- 0
  for (own in list(share, other_share)) {
    for (p in seq_len(nrow(own))) {
      value <- value + concentration / ncol(own) * sum(log(own[p, ])) - 1
    }
  }
  for (i in seq_along(weights)) {
    both <- log(share[pattern[i] + 1, level[i] + 1]) +
      log(other_share[other_pattern[i] + 1, other_level[i] + 1])
    value <- value + max(weights[i] * both, -epsilon)
  }
  value
}
