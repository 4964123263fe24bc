# Attribute risk: an intruder's posterior over guesses of a record's confidential value.
#
# Hornby and Hu (2021), Bayesian estimation of attribute disclosure risks. The intruder has the
# synthetic datasets and all other records. Draws of the posterior under the confidential value are
# weighed anew for each guess: by the ratio of the two likelihoods, to the power of the record's
# weight in the pseudo posterior. Self-contained.

# log(sum(exp(x))) without overflow; -Inf where every x is.
log_sum_exp <- function(x) {
  if (max(x) == -Inf) -Inf else max(x) + log(sum(exp(x - max(x))))
}

# Log importance weights of one record's draws for each guess, a matrix draws x guesses.
log_importance <- function(guesses, place, alpha) {
  log_w <- matrix(0, nrow(guesses), ncol(guesses))
  if (alpha > 0) {
    for (s in seq_len(nrow(guesses))) {
      for (g in seq_len(ncol(guesses))) {
        log_w[s, g] <- alpha * (guesses[s, g] - guesses[s, place])
      }
    }
  }
  log_w
}

# Probabilities records x guesses. `log_guesses` has a matrix draws x guesses for each record,
# `log_synthetic` is draws x datasets, `true` counts from 0, `prior` is records x guesses.
attribute_posterior <- function(log_guesses, log_synthetic, true, weights, prior) {
  records <- length(log_guesses)
  guesses <- ncol(log_guesses[[1]])
  found <- matrix(0, records, guesses)
  for (i in seq_len(records)) {
    log_w <- log_importance(log_guesses[[i]], true[i] + 1, weights[i])
    log_p <- rep(-Inf, guesses)
    for (g in seq_len(guesses)) {
      norm <- log_sum_exp(log_w[, g])
      if (norm > -Inf) {
        log_p[g] <- log(prior[i, g])
        for (l in seq_len(ncol(log_synthetic))) {
          log_p[g] <- log_p[g] + log_sum_exp(log_w[, g] + log_synthetic[, l]) - norm
        }
      }
    }
    found[i, ] <- exp(log_p - log_sum_exp(log_p))
  }
  found
}

# The probability of each record's confidential value; larger = riskier.
attribute_risk <- function(log_guesses, log_synthetic, true, weights, prior) {
  posterior <- attribute_posterior(log_guesses, log_synthetic, true, weights, prior)
  posterior[cbind(seq_along(true), true + 1)]
}

# The rank of each record's confidential value, 1 for the likeliest; equal guesses come before it.
attribute_rank <- function(log_guesses, log_synthetic, true, weights, prior) {
  posterior <- attribute_posterior(log_guesses, log_synthetic, true, weights, prior)
  rank <- numeric(length(true))
  for (i in seq_along(true)) {
    rank[i] <- sum(posterior[i, ] >= posterior[i, true[i] + 1])
  }
  rank
}

# The least effective number of draws over guesses and datasets; larger = more to be trusted.
attribute_effective_draws <- function(log_guesses, log_synthetic, true, weights, prior) {
  least <- rep(Inf, length(true))
  for (i in seq_along(true)) {
    log_w <- log_importance(log_guesses[[i]], true[i] + 1, weights[i])
    for (g in seq_len(ncol(log_w))) {
      if (prior[i, g] > 0 && max(log_w[, g]) > -Inf) {
        for (l in seq_len(ncol(log_synthetic))) {
          share <- log_w[, g] + log_synthetic[, l]
          share <- exp(share - max(share))
          least[i] <- min(least[i], sum(share)^2 / sum(share^2))
        }
      }
    }
  }
  least
}
