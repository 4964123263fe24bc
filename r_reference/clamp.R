# The saturated log-likelihood of one record: the largest that a family gives it within a public
# range of its parameters. What the deviance clamp keeps of a record is its weighted log-likelihood
# less this, in [-epsilon, 0]. Self-contained.

# A figure in whole steps: how a density is evaluated moves its last digits, and where terms cancel,
# more of them.
in_steps <- function(figure, step = 2^-30) {
  round(figure / step) * step
}

# Quantity: the saturated log-likelihood of each outcome of a family. The settings that a family has
# not are not read.
saturated <- function(model, outcome, smallest_sd = 1, largest_shape = 1, largest_kappa = 1,
                      levels = 2) {
  highest <- switch(model,
    "poisson" = highest_poisson,
    "negative-binomial" = highest_negative_binomial,
    "normal" = function(y) dnorm(y, y, smallest_sd, log = TRUE),
    "normal-mixture" = function(y) highest_mixture(y, smallest_sd),
    "gamma" = function(y) dgamma(y, largest_shape, rate = largest_shape / y, log = TRUE),
    "beta" = function(y) highest_beta(y, largest_kappa),
    function(y) highest_level(levels)
  )
  step <- if (model == "beta") 2^-20 else 2^-30
  found <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    found[i] <- highest(outcome[i])
  }
  in_steps(found, step)
}

# Of a count: at mean y.
highest_poisson <- function(y) {
  dpois(y, y, log = TRUE)
}

# Over sizes, at mean y: it rises with the size, towards Poisson's. R's dnbinom has errors of 1e-8
# for sizes between 10^8 y and 10^12 y.
highest_negative_binomial <- function(y) {
  max(dnbinom(y, size = 10^c(0:6, 24), mu = y, log = TRUE))
}

# Over shares of a component at the outcome, beside one a standard deviation away, both with the
# smallest standard deviation.
highest_mixture <- function(y, smallest_sd) {
  share <- (0:8) / 8
  max(log(share * dnorm(y, y, smallest_sd) + (1 - share) * dnorm(y, y + smallest_sd, smallest_sd)))
}

# At the largest kappa and the logit of the mean that makes the outcome likeliest, which is searched.
# An outcome at an end of the range has 0.
highest_beta <- function(y, largest_kappa) {
  if (y <= 0 || y >= 1) {
    return(0)
  }
  height <- function(eta) {
    dbeta(y, plogis(eta) * largest_kappa, plogis(-eta) * largest_kappa, log = TRUE)
  }
  optimize(height, c(-40, 40), maximum = TRUE, tol = 1e-10)$objective
}

# Of one among some levels: over odds from e^0 to e^64 against each other level.
highest_level <- function(levels) {
  max(-log1p((levels - 1) * exp(-(0:64))))
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
