# Joint Lipschitz bounds of a table: K log-likelihood matrices, each its own draws by N records.
#
# Vector-weighted Mechanisms (2024): Equation 3 and Algorithm 1 for a record that is a vector of
# outcomes, over all pairings of the columns' draws. In nats; larger = riskier. Self-contained.

# alpha_ik as a matrix, N by K: one weight a record serves all of its columns.
weights_by_column <- function(log_liks, weights) {
  records <- ncol(log_liks[[1]])
  if (is.null(weights)) {
    return(matrix(1, records, length(log_liks)))
  }
  if (is.matrix(weights)) weights else matrix(weights, records, length(log_liks))
}

# The weighted terms of one record in one column. A record of weight 0 is out; a term that is no
# number is as one that is infinitely unlikely.
terms_of <- function(log_lik, i, weight) {
  if (weight == 0) {
    return(0)
  }
  terms <- log_lik[, i]
  terms[is.nan(terms)] <- -Inf
  weight * terms
}

# Quantity: max_s |alpha_ik l_ik| of each record and column.
joint_by_column <- function(log_liks, weights = NULL) {
  alpha <- weights_by_column(log_liks, weights)
  found <- alpha
  for (k in seq_along(log_liks)) {
    for (i in seq_len(nrow(alpha))) {
      found[i, k] <- max(abs(terms_of(log_liks[[k]], i, alpha[i, k])))
    }
  }
  found
}

# Quantity: the larger of |U_i| and |V_i|, the sums of the columns' largest and smallest terms.
joint_by_record <- function(log_liks, weights = NULL) {
  alpha <- weights_by_column(log_liks, weights)
  found <- numeric(nrow(alpha))
  for (i in seq_along(found)) {
    highest <- 0
    lowest <- 0
    finite <- TRUE
    for (k in seq_along(log_liks)) {
      terms <- terms_of(log_liks[[k]], i, alpha[i, k])
      finite <- finite && all(is.finite(terms))
      highest <- highest + max(terms)
      lowest <- lowest + min(terms)
    }
    found[i] <- if (finite) max(abs(highest), abs(lowest)) else Inf
  }
  found
}

# Quantity: twice the largest bound, the cost of one synthetic table.
joint_epsilon <- function(log_liks, weights = NULL) {
  2 * max(joint_by_record(log_liks, weights))
}

# Quantity: the cost of one run for each column.
joint_epsilon_of_separate_runs <- function(log_liks, weights = NULL) {
  by_column <- joint_by_column(log_liks, weights)
  total <- 0
  for (k in seq_len(ncol(by_column))) {
    total <- total + max(by_column[, k])
  }
  2 * total
}
