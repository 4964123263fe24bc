# What one draw costs where terms are log probabilities, with the weights held fixed.
#
# The term of record i lies in [-Delta_i, min(Delta_i, B_i)] at every draw: a log probability is at
# most 0, and B_i is the sum of the bounds of its log densities. The exponential mechanism with a
# monotone score (McSherry and Talwar 2007) then costs the width of that interval. Self-contained.

# The smallest number of one decimal that is not below the figure.
up_to_a_tenth <- function(figure) {
  tenths <- floor(10 * figure)
  while (tenths / 10 < figure) {
    tenths <- tenths + 1
  }
  tenths / 10
}

# A figure in whole steps of 2^-30 nats: how a density is evaluated moves its last digits.
in_steps <- function(figure) {
  round(figure * 2^30) / 2^30
}

# Delta_i of each record, over all pairings of the columns' draws.
deltas_of <- function(columns, weights) {
  found <- numeric(length(weights))
  for (i in seq_along(weights)) {
    top <- 0
    bottom <- 0
    for (column in columns) {
      top <- top + max(weights[i] * column[, i])
      bottom <- bottom + min(weights[i] * column[, i])
    }
    found[i] <- max(abs(top), abs(bottom))
  }
  found
}

# The width of each record's interval; `probability` says which columns are log probabilities.
widths_of <- function(columns, probability, weights) {
  deltas <- deltas_of(columns, weights)
  found <- numeric(length(weights))
  for (i in seq_along(weights)) {
    densities <- 0
    for (k in which(!probability)) {
      densities <- densities + max(abs(weights[i] * columns[[k]][, i]))
    }
    found[i] <- deltas[i] + min(deltas[i], densities)
  }
  found
}

# Quantity: the widths of three columns' records, of which the second is a log density, and Delta.
window_widths <- function(first, second, third, weights) {
  columns <- list(first, second, third)
  widths <- widths_of(columns, c(TRUE, FALSE, TRUE), weights)
  c(in_steps(widths), in_steps(max(deltas_of(columns, weights))))
}

# Algorithm 1, steps 3 and 4, at c = 1 and g = 0.
weights_of_bounds <- function(bounds) {
  1 - (bounds - min(bounds)) / (max(bounds) - min(bounds))
}

# The figures of an LW run: Delta and the window's epsilon, exact; 2 Delta and the window's epsilon
# as released; and the window's epsilon of a draw and of all draws, where one record is left out, and
# where one is replaced, which moves two records' terms.
figures <- function(columns, probability, draws) {
  unweighted <- deltas_of(columns, rep(1, ncol(columns[[1]])))
  weights <- weights_of_bounds(unweighted)
  delta <- max(deltas_of(columns, weights))
  window <- max(widths_of(columns, probability, weights))
  c(
    in_steps(delta), in_steps(window), up_to_a_tenth(2 * delta), up_to_a_tenth(window),
    up_to_a_tenth(window), up_to_a_tenth(draws * window),
    up_to_a_tenth(2 * window), up_to_a_tenth(2 * draws * window)
  )
}

# log Poisson(y_i; exp(log_mean_s)), S by N.
log_counts <- function(counts, log_mean) {
  found <- matrix(0, length(log_mean), length(counts))
  for (s in seq_along(log_mean)) {
    found[s, ] <- dpois(counts, exp(log_mean[s]), log = TRUE)
  }
  found
}

# log N(z_i; mean_s, exp(log_scale_s)), S by N.
log_numbers <- function(numbers, mean, log_scale) {
  found <- matrix(0, length(mean), length(numbers))
  for (s in seq_along(mean)) {
    found[s, ] <- dnorm(numbers, mean[s], exp(log_scale[s]), log = TRUE)
  }
  found
}

# Quantity: the figures of a run on counts, whose terms are log probabilities.
probability_statement <- function(counts, log_mean, numbers, mean, log_scale, datasets) {
  figures(list(log_counts(counts, log_mean)), TRUE, datasets)
}

# Quantity: the figures of a run on numbers, whose terms are log densities: 2 Delta.
density_statement <- function(counts, log_mean, numbers, mean, log_scale, datasets) {
  figures(list(log_numbers(numbers, mean, log_scale)), FALSE, datasets)
}

# Quantity: the figures of a run on a table of counts and numbers.
mixed_statement <- function(counts, log_mean, numbers, mean, log_scale, datasets) {
  columns <- list(log_counts(counts, log_mean), log_numbers(numbers, mean, log_scale))
  figures(columns, c(TRUE, FALSE), datasets)
}

# Quantity: the figures of a run on counts whose units of privacy are pairs of neighbouring records.
units_statement <- function(counts, log_mean, numbers, mean, log_scale, datasets) {
  of_records <- log_counts(counts, log_mean)
  unit <- (seq_along(counts) - 1) %/% 2 + 1
  of_units <- matrix(0, nrow(of_records), max(unit))
  for (i in seq_along(counts)) {
    of_units[, unit[i]] <- of_units[, unit[i]] + of_records[, i]
  }
  figures(list(of_units), TRUE, datasets)
}
