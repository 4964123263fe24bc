# Lipschitz bounds of a log-likelihood matrix, S draws by N records, in nats.
#
# Vector-weighted Mechanisms (2024): Algorithm 1, steps 1 to 3 (unweighted fit), 6 and 7 (weighted
# fit), and the computation that Appendix 1 describes for them. Larger = riskier. Self-contained;
# unoptimised on purpose: every number has its own line.

# Algorithm 1, step 2: |log p(x_i | theta_s)| of one record at one draw. A value that is not finite
# bounds nothing, so it counts as infinitely large.
absolute_log_lik <- function(value) {
  if (is.finite(value)) abs(value) else Inf
}

# Algorithm 1, step 2: the S x N matrix of absolute log-likelihoods.
direct_ratios <- function(log_lik) {
  ratios <- matrix(0, nrow(log_lik), ncol(log_lik))
  for (s in seq_len(nrow(log_lik))) {
    for (i in seq_len(ncol(log_lik))) {
      ratios[s, i] <- absolute_log_lik(log_lik[s, i])
    }
  }
  ratios
}

# Appendix 1, step 2: the same matrix as a change of the whole log-likelihood when record i leaves,
# |sum over all records - sum over all records but i|.
leave_one_out_ratios <- function(log_lik) {
  ratios <- matrix(0, nrow(log_lik), ncol(log_lik))
  for (s in seq_len(nrow(log_lik))) {
    everyone <- sum(log_lik[s, ])
    for (i in seq_len(ncol(log_lik))) {
      others <- sum(log_lik[s, -i])
      ratios[s, i] <- absolute_log_lik(everyone - others)
    }
  }
  ratios
}

log_ratios <- function(log_lik, method) {
  switch(method,
    direct = direct_ratios(log_lik),
    leave_one_out = leave_one_out_ratios(log_lik),
    stop("method must be direct or leave_one_out")
  )
}

# Appendix 1, step 2: the largest ratio of each draw.
largest_by_draw <- function(ratios) {
  largest <- numeric(nrow(ratios))
  for (s in seq_len(nrow(ratios))) {
    largest[s] <- max(ratios[s, ])
  }
  largest
}

# Delta_{alpha,x}, Algorithm 1, step 7: the largest ratio of all. Below a threshold of 1, Appendix 1
# takes the quantile of the draws' maxima at the threshold instead.
largest_allowed <- function(by_draw, threshold) {
  if (threshold == 1) max(by_draw) else quantile(by_draw, threshold, names = FALSE)
}

# Appendix 1, between steps 2 and 3: the draws that stay, those whose maximum does not exceed L.
draws_that_stay <- function(by_draw, threshold) {
  by_draw <= largest_allowed(by_draw, threshold)
}

# Quantity: the largest ratio of each draw, (S,).
lipschitz_by_draw <- function(log_lik, method = "direct") {
  largest_by_draw(log_ratios(log_lik, method))
}

# Quantity: Delta_{alpha,x} of the database.
lipschitz_database <- function(log_lik, method = "direct", threshold = 1) {
  largest_allowed(lipschitz_by_draw(log_lik, method), threshold)
}

# Quantity: the draws that stay, (S,) logical.
lipschitz_kept_draws <- function(log_lik, method = "direct", threshold = 1) {
  draws_that_stay(lipschitz_by_draw(log_lik, method), threshold)
}

# Quantity: Delta_{alpha,x_i} of every record, (N,): Algorithm 1, step 3, over the draws that stay.
# A record whose log-likelihood is not finite at any draw has no bound, whatever stays.
lipschitz_by_record <- function(log_lik, method = "direct", threshold = 1) {
  ratios <- log_ratios(log_lik, method)
  stays <- draws_that_stay(largest_by_draw(ratios), threshold)
  bounds <- numeric(ncol(log_lik))
  for (i in seq_len(ncol(log_lik))) {
    bounds[i] <- if (all(is.finite(log_lik[, i]))) max(ratios[stays, i]) else Inf
  }
  bounds
}

# Quantity: epsilon_x = 2 Delta_{alpha,x}, Algorithm 1, step 7.
lipschitz_epsilon <- function(log_lik, method = "direct", threshold = 1) {
  2 * lipschitz_database(log_lik, method, threshold)
}

# The log pseudo likelihood of a weighted fit, alpha_i log p(x_i | theta_s): Algorithm 1, step 6.
weighted_log_lik <- function(log_lik, weights) {
  weighted <- matrix(0, nrow(log_lik), ncol(log_lik))
  for (s in seq_len(nrow(log_lik))) {
    for (i in seq_len(ncol(log_lik))) {
      weighted[s, i] <- weights[i] * log_lik[s, i]
    }
  }
  weighted
}

# Quantity: Delta_{alpha,x_i} of a weighted fit.
weighted_by_record <- function(log_lik, weights, threshold = 1) {
  lipschitz_by_record(weighted_log_lik(log_lik, weights), "direct", threshold)
}

# Quantity: Delta_{alpha,x} of a weighted fit.
weighted_database <- function(log_lik, weights, threshold = 1) {
  lipschitz_database(weighted_log_lik(log_lik, weights), "direct", threshold)
}
