# The saturated log-likelihood of one record: the largest that a family gives it within a public
# range of its parameters. What the deviance clamp keeps of a record is its weighted log-likelihood
# less this, in [-epsilon, 0]. Self-contained.

# A figure in whole steps: how a density is evaluated moves its last digits, and where terms cancel,
# more of them.
in_steps <- function(figure, step = 2^-30) {
  round(figure / step) * step
}

# Quantity: counts, Poisson and negative binomial alike: at mean y, and without over-dispersion.
saturated_counts <- function(outcome) {
  found <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    found[i] <- dpois(outcome[i], outcome[i], log = TRUE)
  }
  in_steps(found)
}

# Quantity: normal, at mean y and the smallest standard deviation. A mixture's largest is the same.
saturated_normal <- function(outcome, smallest_sd) {
  found <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    found[i] <- dnorm(outcome[i], outcome[i], smallest_sd, log = TRUE)
  }
  in_steps(found)
}

# Quantity: gamma, at mean y and the largest shape.
saturated_gamma <- function(outcome, largest_shape) {
  found <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    found[i] <- dgamma(outcome[i], largest_shape, rate = largest_shape / outcome[i], log = TRUE)
  }
  in_steps(found)
}

# Quantity: beta, at the largest kappa and the logit of the mean that makes the outcome likeliest,
# which is searched. An outcome at an end of the range has 0.
saturated_beta <- function(outcome, largest_kappa) {
  found <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    if (outcome[i] > 0 && outcome[i] < 1) {
      height <- function(eta) {
        dbeta(outcome[i], plogis(eta) * largest_kappa, plogis(-eta) * largest_kappa, log = TRUE)
      }
      found[i] <- optimize(height, c(-40, 40), maximum = TRUE, tol = 1e-10)$objective
    }
  }
  in_steps(found, 2^-20)
}

# Quantity: the terms of a normal target under the deviance clamp, draws by records.
deviance_terms <- function(outcome, mean, log_scale, weights, epsilon, smallest_sd) {
  found <- matrix(0, length(mean), length(outcome))
  for (s in seq_along(mean)) {
    for (i in seq_along(outcome)) {
      log_lik <- dnorm(outcome[i], mean[s], exp(log_scale[s]), log = TRUE)
      highest <- dnorm(outcome[i], outcome[i], smallest_sd, log = TRUE)
      found[s, i] <- min(max(weights[i] * (log_lik - highest), -epsilon), 0)
    }
  }
  in_steps(found)
}
