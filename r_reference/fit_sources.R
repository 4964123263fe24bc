# What whole runs on tables state and fit, from the records, the draws and the settings alone.
#
# Vector-weighted Mechanisms (2024), Equation 3 and Algorithm 1 with x_i a record of several columns,
# or the records of a unit. Columns are normal, with a category of missing values before the first.
# Self-contained.

# A figure in whole steps of 2^-30 nats: how a density is evaluated moves its last digits.
in_steps <- function(figure) {
  round(figure * 2^30) / 2^30
}

# The smallest number of one decimal that is not below the figure.
up_to_a_tenth <- function(figure) {
  tenths <- floor(10 * figure)
  while (tenths / 10 < figure) {
    tenths <- tenths + 1
  }
  tenths / 10
}

# The log-likelihoods of the records at each draw, S by N, one matrix a column: whether the first
# number is missing, the number where it is there, and the second number given both.
table_terms <- function(first, second, log_odds, mean, log_scale, intercept, at_missing, slope, log_scale_2, half_width) {
  part <- value <- later <- matrix(0, length(mean), length(first))
  for (s in seq_along(mean)) {
    for (i in seq_along(first)) {
      missing <- is.nan(first[i])
      part[s, i] <- plogis(if (missing) log_odds[s] else -log_odds[s], log.p = TRUE)
      if (!missing) {
        value[s, i] <- dnorm(first[i], mean[s], exp(log_scale[s]), log = TRUE)
      }
      shift <- if (missing) at_missing[s] else slope[s] * first[i] / half_width
      later[s, i] <- dnorm(second[i], intercept[s] + shift, exp(log_scale_2[s]), log = TRUE)
    }
  }
  list(part, value, later)
}

# The sums of each unit's terms, S by H, where the term of record i counts exponents[i] times.
unit_sums <- function(terms, unit, exponents) {
  lapply(terms, function(matrix) {
    found <- matrix(0, nrow(matrix), max(unit))
    for (i in seq_along(unit)) {
      found[, unit[i]] <- found[, unit[i]] + exponents[i] * matrix[, i]
    }
    found
  })
}

# Of each unit the larger of |U| and |V|: the weighted sums over columns of the largest and of the
# smallest terms.
joint_bounds <- function(terms, weights) {
  most <- least <- numeric(length(weights))
  for (matrix in terms) {
    most <- most + weights * apply(matrix, 2, max)
    least <- least + weights * apply(matrix, 2, min)
  }
  pmax(abs(most), abs(least))
}

# Algorithm 1, steps 3 and 4, at c = 1 and g = 0.
weights_of_bounds <- function(bounds) {
  1 - (bounds - min(bounds)) / (max(bounds) - min(bounds))
}

# The log density of a column's weighted terms at each draw, above that at the first draw.
fitted_sums <- function(matrix, weights) {
  found <- as.vector(matrix %*% weights)
  found - found[1]
}

# The figures of a run whose units have these bounds under these weights: Delta, epsilon_x = 2 Delta
# and the total, exact and as released; then each record's weight and bound; then what each column's
# fit sees of the draws.
release_figures <- function(bounds, weights, unit, datasets, fitted) {
  bound <- max(bounds)
  figures <- c(bound, 2 * bound, 2 * datasets * bound)
  released <- sapply(figures, up_to_a_tenth)
  c(in_steps(figures), released, in_steps(weights[unit]), in_steps(bounds[unit]), in_steps(fitted))
}

# Quantity: an LW run on a table whose first number may be missing. Records of one unit share its
# weight, and equal records of a unit count as often as they are there. Survey weights are exponents
# over their public mean, or over their own where none is public (mean_weight 0).
table_release <- function(first, second, log_odds, mean, log_scale, intercept, at_missing, slope, log_scale_2, half_width, unit, survey, mean_weight, datasets) {
  terms <- table_terms(first, second, log_odds, mean, log_scale, intercept, at_missing, slope, log_scale_2, half_width)
  exponents <- survey / (if (mean_weight > 0) mean_weight else sum(survey) / length(survey))
  sums <- unit_sums(terms, unit, exponents)
  weights <- weights_of_bounds(joint_bounds(sums, rep(1, max(unit))))
  fitted <- unlist(lapply(terms, fitted_sums, weights[unit] * exponents))
  release_figures(joint_bounds(sums, weights), weights, unit, datasets, fitted)
}

# Quantity: an LW run on one number with units and survey weights.
number_release <- function(outcome, mean, log_scale, unit, survey, mean_weight, datasets) {
  terms <- matrix(0, length(mean), length(outcome))
  for (s in seq_along(mean)) {
    terms[s, ] <- dnorm(outcome, mean[s], exp(log_scale[s]), log = TRUE)
  }
  exponents <- survey / (if (mean_weight > 0) mean_weight else sum(survey) / length(survey))
  sums <- unit_sums(list(terms), unit, exponents)
  weights <- weights_of_bounds(joint_bounds(sums, rep(1, max(unit))))
  fitted <- fitted_sums(terms, weights[unit] * exponents)
  release_figures(joint_bounds(sums, weights), weights, unit, datasets, fitted)
}

# Quantity: an LW run on units with members: a unit's size, a number of the unit, and a number of
# each member, given the unit's and whether a member stands before. The unit's own terms count once.
members_release <- function(level, amount, unit, log_odds, mean, log_scale, intercept, slope, at_second, log_scale_2, half_width, datasets) {
  draws <- length(mean)
  size <- own <- matrix(0, draws, max(unit))
  member <- matrix(0, draws, length(unit))
  for (s in seq_len(draws)) {
    for (i in seq_along(unit)) {
      second <- any(unit[seq_len(i - 1)] == unit[i])
      centre <- intercept[s] + slope[s] * level[i] / half_width + if (second) at_second[s] else 0
      member[s, i] <- dnorm(amount[i], centre, exp(log_scale_2[s]), log = TRUE)
      size[s, unit[i]] <- plogis(if (second) log_odds[s] else -log_odds[s], log.p = TRUE)
      own[s, unit[i]] <- dnorm(level[i], mean[s], exp(log_scale[s]), log = TRUE)
    }
  }
  sums <- list(size, own, unit_sums(list(member), unit, rep(1, length(unit)))[[1]])
  weights <- weights_of_bounds(joint_bounds(sums, rep(1, max(unit))))
  fitted <- c(fitted_sums(own, weights), fitted_sums(member, weights[unit]))
  release_figures(joint_bounds(sums, weights), weights, unit, datasets, fitted)
}

# Quantity: an LW run on a number within a public range.
truncated_release <- function(outcome, mean, log_scale, low, high, datasets) {
  terms <- matrix(0, length(mean), length(outcome))
  for (s in seq_along(mean)) {
    scale <- exp(log_scale[s])
    inside <- pnorm(high, mean[s], scale) - pnorm(low, mean[s], scale)
    terms[s, ] <- dnorm(outcome, mean[s], scale, log = TRUE) - log(inside)
  }
  each <- seq_along(outcome)
  weights <- weights_of_bounds(joint_bounds(list(terms), rep(1, length(each))))
  fitted <- fitted_sums(terms, weights)
  release_figures(joint_bounds(list(terms), weights), weights, each, datasets, fitted)
}

# log P(below < N(mean, scale) < above), from the tail on the side of the nearer end.
log_inside <- function(below, above, mean, scale) {
  ends <- (c(below, above) - mean) / scale
  if (sum(ends) < 0) {
    ends <- -rev(ends)
  }
  tails <- pnorm(ends, lower.tail = FALSE, log.p = TRUE)
  tails[1] + log1p(-exp(tails[2] - tails[1]))
}

# Quantity: an LW run on a whole number above one public number of its record, which may be missing,
# and at most another one. What becomes a whole number lies up to half a step from it, in the range.
# A record that breaks a bound has no term.
bounded_release <- function(outcome, least, most, mean, log_scale, low, high, datasets) {
  terms <- matrix(0, length(mean), length(outcome))
  for (i in seq_along(outcome)) {
    below <- if (is.nan(least[i])) low else max(low, floor(least[i]) + 0.5)
    above <- min(high, floor(most[i]) + 0.5)
    if (outcome[i] < below || outcome[i] > above) {
      next
    }
    for (s in seq_along(mean)) {
      scale <- exp(log_scale[s])
      density <- dnorm(outcome[i], mean[s], scale, log = TRUE)
      terms[s, i] <- density - log_inside(below, above, mean[s], scale)
    }
  }
  each <- seq_along(outcome)
  weights <- weights_of_bounds(joint_bounds(list(terms), rep(1, length(each))))
  fitted <- fitted_sums(terms, weights)
  release_figures(joint_bounds(list(terms), weights), weights, each, datasets, fitted)
}

# Quantity: a run of a table under the deviance clamp: a count, and a number given the count. Each
# column's largest log-likelihood is taken off first. The bounds of the terms, half of what the
# window keeps of them; the share of draws at which a record is outside; and the sum of clamped terms
# at each draw.
clamped_release <- function(count, amount, log_mean, intercept, slope, log_scale, half_width, epsilon, smallest_sd) {
  first <- second <- matrix(0, length(log_mean), length(count))
  for (s in seq_along(log_mean)) {
    for (i in seq_along(count)) {
      centre <- intercept[s] + slope[s] * (count[i] - half_width) / half_width
      first[s, i] <- dpois(count[i], exp(log_mean[s]), log = TRUE) - dpois(count[i], count[i], log = TRUE)
      second[s, i] <- dnorm(amount[i], centre, exp(log_scale[s]), log = TRUE) -
        dnorm(amount[i], amount[i], smallest_sd, log = TRUE)
    }
  }
  bounds <- joint_bounds(list(first, second), rep(1, length(count)))
  terms <- first + second
  outside <- colMeans(terms < -epsilon)
  sums <- rowSums(pmax(terms, -epsilon))
  c(in_steps(pmin(bounds, epsilon) / 2), outside, in_steps(sums))
}
