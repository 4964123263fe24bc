# The clamp of a censored likelihood, and what it changes.
#
# Mechanisms for Global Differential Privacy (2022): p(x_i | theta)^alpha_i between exp(-epsilon / 2)
# and exp(epsilon / 2); with saturated log-likelihoods a_i, alpha_i (l_i - a_i) between -epsilon and
# 0. Self-contained.

# The window of a term: of the log-likelihood, or of minus half the unit deviance.
window_of <- function(epsilon, saturated) {
  if (is.null(saturated)) c(-epsilon / 2, epsilon / 2) else c(-epsilon, 0)
}

# alpha_i (l_i - a_i) of one term. A record of weight 0 is out; a term that is no number is as one
# that is infinitely unlikely.
weighted_term <- function(log_lik, weight, shift) {
  if (weight == 0) {
    0
  } else if (is.nan(log_lik)) {
    -Inf
  } else {
    weight * (log_lik - shift)
  }
}

weighted_terms <- function(log_lik, weights, saturated) {
  terms <- log_lik
  for (i in seq_len(ncol(log_lik))) {
    weight <- if (is.null(weights)) 1 else weights[i]
    shift <- if (is.null(saturated)) 0 else saturated[i]
    for (s in seq_len(nrow(log_lik))) {
      terms[s, i] <- weighted_term(log_lik[s, i], weight, shift)
    }
  }
  terms
}

# Quantity: the clamped terms.
clamp_log_likelihood <- function(log_lik, weights = NULL, epsilon, saturated = NULL) {
  terms <- weighted_terms(log_lik, weights, saturated)
  window <- window_of(epsilon, saturated)
  for (place in seq_along(terms)) {
    if (terms[place] > window[2]) {
      terms[place] <- window[2]
    } else if (terms[place] < window[1]) {
      terms[place] <- window[1]
    }
  }
  terms
}

# Which terms the clamp changes.
clamped <- function(log_lik, weights, epsilon, saturated) {
  terms <- weighted_terms(log_lik, weights, saturated)
  clamp_log_likelihood(log_lik, weights, epsilon, saturated) != terms
}

# Quantity: the share of the draws at which each record is clamped.
censored_share_by_record <- function(log_lik, weights = NULL, epsilon, saturated = NULL) {
  hit <- clamped(log_lik, weights, epsilon, saturated)
  shares <- numeric(ncol(hit))
  for (i in seq_len(ncol(hit))) {
    shares[i] <- sum(hit[, i]) / nrow(hit)
  }
  shares
}

# Quantity: the share of the records that are clamped at each draw.
censored_share_by_draw <- function(log_lik, weights = NULL, epsilon, saturated = NULL) {
  hit <- clamped(log_lik, weights, epsilon, saturated)
  shares <- numeric(nrow(hit))
  for (s in seq_len(nrow(hit))) {
    shares[s] <- sum(hit[s, ]) / ncol(hit)
  }
  shares
}

# Quantity: the share of all terms.
censored_share_overall <- function(log_lik, weights = NULL, epsilon, saturated = NULL) {
  hit <- clamped(log_lik, weights, epsilon, saturated)
  sum(hit) / length(hit)
}

# Quantity: is every term clamped or of weight 0?
censored_share_constant <- function(log_lik, weights = NULL, epsilon, saturated = NULL) {
  hit <- clamped(log_lik, weights, epsilon, saturated)
  out <- if (is.null(weights)) rep(FALSE, ncol(hit)) else weights == 0
  all(hit[, !out])
}
