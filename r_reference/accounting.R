# What a privacy statement says, from the outcomes, the draws and the settings of a run alone.
#
# Vector-weighted Mechanisms (2024), Equation 3 and Algorithms 1 and 3; Mechanisms for Global
# Differential Privacy (2022) for Weighted-epsilon and Censored. The model is normal, without
# predictors; every fit of a run has the same draws. Self-contained.

# log N(y_i | mean_s, sd_s), S by N.
log_densities <- function(outcome, mean, log_scale) {
  found <- matrix(0, length(mean), length(outcome))
  for (s in seq_along(mean)) {
    for (i in seq_along(outcome)) {
      found[s, i] <- dnorm(outcome[i], mean[s], exp(log_scale[s]), log = TRUE)
    }
  }
  found
}

# Delta_{alpha,x_i} = max_s |alpha_i l_i(theta_s)| of each record.
bounds_by_record <- function(log_lik, weights) {
  found <- numeric(ncol(log_lik))
  for (i in seq_len(ncol(log_lik))) {
    found[i] <- max(abs(weights[i] * log_lik[, i]))
  }
  found
}

# Algorithm 1, steps 3 and 4, at c = 1 and g = 0.
weights_of_bounds <- function(bounds) {
  1 - (bounds - min(bounds)) / (max(bounds) - min(bounds))
}

# The weights of an LW fit.
lw_weights <- function(log_lik) {
  weights_of_bounds(bounds_by_record(log_lik, rep(1, ncol(log_lik))))
}

# The smallest number of one decimal that is not below the figure.
up_to_a_tenth <- function(figure) {
  tenths <- floor(10 * figure)
  while (tenths / 10 < figure) {
    tenths <- tenths + 1
  }
  tenths / 10
}

# A figure in whole steps of 2^-30 nats: how the density is evaluated moves its last digits.
in_steps <- function(figure) {
  round(figure * 2^30) / 2^30
}

# The statement in numbers: Delta, epsilon_x = 2 Delta and d epsilon_x of d draws, exact and as
# released; the ledger's entry for the datasets; epsilon of a dataset and of all where one record is left out, and
# where one is replaced, which costs twice as much; what is certified; and the word, 0 for none, 1
# for asymptotic-dp, 2 for dp. Where the number of records is released as it is, a strict claim is
# one for replacement. Where a setting names it, or `noise` is paid for it, the claim is one for
# deletion: a dataset shows the noisy number too, which replacement leaves as it is. No other claim
# is certified: two zeros. Datasets of one draw cost what the draw costs, so `datasets` counts draws.
# The draw of a first stage costs `stage` once, in any one dataset as in all of them, and twice that
# where a record is replaced.
statement <- function(bound, datasets, word, records = "exact", noise = 0, stage = 0) {
  epsilon <- 2 * bound
  draws <- datasets * epsilon
  total <- draws + stage + noise
  left_out <- c(up_to_a_tenth(epsilon + stage + noise), up_to_a_tenth(total))
  replaced <- c(up_to_a_tenth(2 * (epsilon + stage)), up_to_a_tenth(2 * (draws + stage)))
  certified <- c(0, 0)
  if (word == 2) {
    certified <- if (records == "exact") replaced else left_out
  }
  exact <- c(in_steps(bound), in_steps(epsilon), in_steps(total))
  released <- c(up_to_a_tenth(bound), up_to_a_tenth(epsilon), up_to_a_tenth(total))
  c(exact, released, up_to_a_tenth(draws), left_out, replaced, certified, word)
}

# Quantity: the statement of an unweighted run, which claims nothing.
unweighted_statement <- function(outcome, mean, log_scale, datasets) {
  log_lik <- log_densities(outcome, mean, log_scale)
  statement(max(bounds_by_record(log_lik, rep(1, length(outcome)))), datasets, 0)
}

# Quantity: the statement of an LW run.
lw_statement <- function(outcome, mean, log_scale, datasets) {
  log_lik <- log_densities(outcome, mean, log_scale)
  statement(max(bounds_by_record(log_lik, lw_weights(log_lik))), datasets, 1)
}

# Algorithm 3 after an LW fit: min(1, k alpha_i Delta / Delta_i).
raised_weights <- function(log_lik, k) {
  weights <- lw_weights(log_lik)
  bounds <- bounds_by_record(log_lik, weights)
  database <- max(bounds)
  for (i in seq_along(weights)) {
    if (weights[i] > 0) {
      weights[i] <- min(1, k * weights[i] * database / bounds[i])
    }
  }
  weights
}

# Quantity: the weights of the fit that makes the datasets after re-weighting.
reweighted_weights <- function(outcome, mean, log_scale, datasets, k) {
  in_steps(raised_weights(log_densities(outcome, mean, log_scale), k))
}

# Quantity: the statement after re-weighting.
reweighted_statement <- function(outcome, mean, log_scale, datasets, k) {
  log_lik <- log_densities(outcome, mean, log_scale)
  statement(max(bounds_by_record(log_lik, raised_weights(log_lik, k))), datasets, 1)
}

# Quantity: the statement of Weighted-epsilon: out of the fit above epsilon / 2, the bound anew.
weighted_epsilon_statement <- function(outcome, mean, log_scale, datasets, epsilon) {
  log_lik <- log_densities(outcome, mean, log_scale)
  weights <- lw_weights(log_lik)
  weights[bounds_by_record(log_lik, weights) > epsilon / 2] <- 0
  statement(max(bounds_by_record(log_lik, weights)), datasets, 1)
}

# Quantity: the statement of a censored run, whose bound is enforced. It is strict only where no
# weight depends on the data.
censored_statement <- function(outcome, mean, log_scale, datasets, epsilon, weights) {
  statement(epsilon / 2, datasets, if (weights == "none") 2 else 1)
}

# Quantity: the statement of a censored run whose number of rows is a setting, or noisy.
records_statement <- function(outcome, mean, log_scale, datasets, epsilon, records, noise) {
  statement(epsilon / 2, datasets, 2, records, if (records == "noisy") noise else 0)
}

# Quantity: the statement of a censored run whose datasets come from fewer draws.
draws_statement <- function(outcome, mean, log_scale, datasets, epsilon, draws) {
  statement(epsilon / 2, min(datasets, draws), 2)
}

# Quantity: the statement of a censored run whose weights come from one draw of a first stage.
staged_statement <- function(outcome, mean, log_scale, datasets, epsilon, stage) {
  statement(epsilon / 2, datasets, 2, stage = stage)
}

# Quantity: what two strict releases of one table have cost together. The first shows its number of
# records, so both are figures for a record that is replaced: its number, epsilon, and zCDP.
after_statement <- function(outcome, mean, log_scale, datasets, epsilon, before) {
  epsilons <- 2 * c(before, epsilon)
  spent <- up_to_a_tenth(datasets * epsilons[1]) + up_to_a_tenth(datasets * epsilons[2])
  c(2, spent, datasets * epsilons[1]^2 / 8 + datasets * epsilons[2]^2 / 8)
}

# Quantity: the statement of an LW run whose datasets come from one draw.
one_draw_statement <- function(outcome, mean, log_scale, datasets) {
  log_lik <- log_densities(outcome, mean, log_scale)
  statement(max(bounds_by_record(log_lik, lw_weights(log_lik))), 1, 1)
}

# Quantity: the sum of the terms of a censored target at each draw, clamped on either side.
censored_terms <- function(outcome, mean, log_scale, epsilon, weights) {
  log_lik <- log_densities(outcome, mean, log_scale)
  alpha <- if (weights == "none") rep(1, length(outcome)) else lw_weights(log_lik)
  sums <- numeric(nrow(log_lik))
  for (s in seq_along(sums)) {
    for (i in seq_along(alpha)) {
      sums[s] <- sums[s] + min(max(alpha[i] * log_lik[s, i], -epsilon / 2), epsilon / 2)
    }
  }
  in_steps(sums)
}

# log N(y_i | intercept_s + slope_s z_i, sd_s), S by N, z the predictor on its public scale.
log_densities_given <- function(outcome, z, intercept, slope, log_scale) {
  found <- matrix(0, length(intercept), length(outcome))
  for (s in seq_along(intercept)) {
    for (i in seq_along(outcome)) {
      mean <- intercept[s] + slope[s] * z[i]
      found[s, i] <- dnorm(outcome[i], mean, exp(log_scale[s]), log = TRUE)
    }
  }
  found
}

# The joint bound of each record of two columns under weights: the larger of |U_i| and |V_i|, the
# sums of the columns' largest and smallest weighted terms over all pairings of the draws.
joint_bounds_of_two <- function(first, second, weights) {
  found <- numeric(length(weights))
  for (i in seq_along(weights)) {
    one <- weights[i] * first[, i]
    other <- weights[i] * second[, i]
    found[i] <- max(abs(max(one) + max(other)), abs(min(one) + min(other)))
  }
  found
}

# Quantity: the statement of an LW run on a table of two columns, of which the second follows the
# first. Behind it: what each column alone costs under the same weights, and the sum, exact and as
# released.
table_statement <- function(outcome, mean, log_scale, second, intercept, slope, log_scale_2, half_width, datasets) {
  first_lik <- log_densities(outcome, mean, log_scale)
  second_lik <- log_densities_given(second, outcome / half_width, intercept, slope, log_scale_2)
  weights <- weights_of_bounds(joint_bounds_of_two(first_lik, second_lik, rep(1, length(outcome))))
  joint <- statement(max(joint_bounds_of_two(first_lik, second_lik, weights)), datasets, 1)
  alone <- c(
    2 * max(bounds_by_record(first_lik, weights)),
    2 * max(bounds_by_record(second_lik, weights))
  )
  exact <- c(in_steps(alone[1]), in_steps(alone[2]), in_steps(sum(alone)))
  released <- c(up_to_a_tenth(alone[1]), up_to_a_tenth(alone[2]), up_to_a_tenth(sum(alone)))
  c(joint, exact, released)
}
