# What whole runs state and weigh, from the outcomes, the draws and the settings of a run alone.
#
# Vector-weighted Mechanisms (2024), Equation 3 and Algorithms 1 and 2; the R package LipschitzWeights
# for maps of bounds; Mechanisms for Global Differential Privacy (2022) for the clamp; Dong, Durfee and
# Rogers (2020) for several draws. The model is normal, without predictors. Self-contained.

# log N(y_i | mean_s, sd_s), S by N.
log_densities <- function(outcome, mean, log_scale) {
  found <- matrix(0, length(mean), length(outcome))
  for (s in seq_along(mean)) {
    found[s, ] <- dnorm(outcome, mean[s], exp(log_scale[s]), log = TRUE)
  }
  found
}

# max_s |l_i(theta_s)| of each record.
largest_terms <- function(log_lik) {
  apply(abs(log_lik), 2, max)
}

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

# Delta, epsilon_x = 2 Delta and the total of all datasets, exact and as released; the word, 0 for
# none, 1 for asymptotic-dp and 2 for dp; then each record's weight and bound.
figures_of_run <- function(bounds, weights, datasets, word, bound = max(bounds)) {
  figures <- c(bound, 2 * bound, 2 * datasets * bound)
  released <- sapply(figures, up_to_a_tenth)
  c(in_steps(figures), released, word, in_steps(weights), in_steps(bounds))
}

# c (1 - risk) + g, within [0, 1].
weights_of_risks <- function(risk, c, g) {
  pmin(1, pmax(0, c * (1 - risk) + g))
}

# The risks of bounds under each map.
risks_of_bounds <- function(bounds, map) {
  if (map == "linear") {
    return((bounds - min(bounds)) / (max(bounds) - min(bounds)))
  }
  if (map == "softmax") {
    return(1 / (1 + exp(-1.69897 * (bounds - mean(bounds)) / sd(bounds))))
  }
  2 / (1 + exp(-bounds / 2)) - 1
}

# Quantity: an LW run under a map of bounds to risks.
mapped_run <- function(outcome, mean, log_scale, datasets, map, c, g) {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  weights <- weights_of_risks(risks_of_bounds(terms, map), c, g)
  figures_of_run(weights * terms, weights, datasets, 1)
}

# Quantity: a run under the inverse map of pyvws at a public t. Without a weight below 1 nothing is claimed.
inverse_run <- function(outcome, mean, log_scale, datasets, t, power) {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  weights <- pmin(1, (t / terms)^power)
  figures_of_run(weights * terms, weights, datasets, if (any(weights < 1)) 1 else 0)
}

# Quantity: an SW run, whose one weight is LW's bound over the unweighted one.
scalar_run <- function(outcome, mean, log_scale, datasets) {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  lw <- max(weights_of_risks(risks_of_bounds(terms, "linear"), 1, 0) * terms)
  weights <- rep(lw / max(terms), length(terms))
  figures_of_run(weights * terms, weights, datasets, 1)
}

# Quantity: an LW run whose weights are then lowered, each until its record's bound is epsilon / 2.
downscaled_run <- function(outcome, mean, log_scale, datasets, epsilon) {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  weights <- weights_of_risks(risks_of_bounds(terms, "linear"), 1, 0)
  bounds <- weights * terms
  above <- bounds > epsilon / 2
  weights[above] <- weights[above] * (epsilon / 2) / bounds[above]
  figures_of_run(weights * terms, weights, datasets, 1)
}

# Quantity: a run under given weights. Without a weight below 1 nothing is claimed. The log-likelihood
# of a fit made elsewhere holds the weights ("weighted") or lacks them ("plain"): the run is the same.
given_run <- function(outcome, mean, log_scale, datasets, weights, holds = "") {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  figures_of_run(weights * terms, weights, datasets, if (any(weights < 1)) 1 else 0)
}

# Quantity: a run whose weights fall with the share of a record's pattern that lies outside its ball.
# Records of one pattern have the same known values. CW and marginal weights are the same (`marginal`).
risk_run <- function(outcome, mean, log_scale, datasets, pattern, radius, c, marginal) {
  risk <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    alike <- outcome[pattern == pattern[i]]
    risk[i] <- sum(abs(alike - outcome[i]) > radius) / length(alike)
  }
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  weights <- weights_of_risks(risk, c, 0)
  figures_of_run(weights * terms, weights, datasets, 1)
}

# Quantity: a run under pairwise weights: the risk of a pair is the share of its pattern that lies outside
# both of its balls, and a record's risk is the mean over its pairs.
pairwise_run <- function(outcome, mean, log_scale, datasets, pattern, radius, c) {
  risk <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    alike <- which(pattern == pattern[i])
    others <- setdiff(alike, i)
    of_pairs <- sapply(others, function(j) {
      outside <- abs(outcome[alike] - outcome[i]) > radius & abs(outcome[alike] - outcome[j]) > radius
      sum(outside) / length(alike)
    })
    risk[i] <- sum(of_pairs) / length(others)
  }
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  weights <- weights_of_risks(risk, c, 0)
  figures_of_run(weights * terms, weights, datasets, if (any(weights < 1)) 1 else 0)
}

# Quantity: a CW run on a table of a category and a number: a record is inside a ball where its category
# is the same and its number is near.
table_risk_run <- function(outcome, label, mean, log_scale, log_odds, datasets, radius) {
  risk <- numeric(length(outcome))
  for (i in seq_along(outcome)) {
    risk[i] <- mean(abs(outcome - outcome[i]) > radius | label != label[i])
  }
  of_number <- log_densities(outcome, mean, log_scale)
  of_label <- sapply(label, function(code) plogis(if (code == 1) log_odds else -log_odds, log.p = TRUE))
  most <- apply(of_number, 2, max) + apply(of_label, 2, max)
  least <- apply(of_number, 2, min) + apply(of_label, 2, min)
  figures_of_run((1 - risk) * pmax(abs(most), abs(least)), 1 - risk, datasets, 1)
}

# Quantity: an LW run whose settings leave the shift g to its default: 0, or half of c where 0 would take
# out more than one record and more than 1 % of them.
shifted_run <- function(outcome, mean, log_scale, datasets, c) {
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  risk <- risks_of_bounds(terms, "linear")
  lost <- sum(weights_of_risks(risk, 1, 0) == 0)
  weights <- weights_of_risks(risk, c, if (lost > max(1, 0.01 * length(risk))) c / 2 else 0)
  figures_of_run(weights * terms, weights, datasets, 1)
}

# Quantity: a censored run whose weights come from a fit to public records, which has draws of its own.
# Either a record's size stands on the scale of the public records' sizes; or all records have the
# weight epsilon / W, at most 1, where 5 % of the public sizes exceed W.
reference_run <- function(outcome, mean, log_scale, public, public_mean, public_log_scale, datasets, epsilon, weights) {
  of_public <- largest_terms(log_densities(public, public_mean, public_log_scale))
  if (weights == "constant") {
    alpha <- rep(min(1, epsilon / unname(quantile(of_public, 0.95))), length(outcome))
  } else {
    sizes <- largest_terms(log_densities(outcome, public_mean, public_log_scale))
    risk <- (sizes - min(of_public)) / (max(of_public) - min(of_public))
    alpha <- 1 - pmin(1, pmax(0, risk))
  }
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  bounds <- pmin(alpha * terms, epsilon / 2)
  figures_of_run(bounds, alpha, datasets, 2, epsilon / 2)
}

# Quantity: a censored run whose weights are c w_i + g within [0, 1], w_i from a public column.
public_run <- function(outcome, mean, log_scale, datasets, column, epsilon, c, g) {
  weights <- pmin(1, pmax(0, c * column + g))
  terms <- largest_terms(log_densities(outcome, mean, log_scale))
  figures_of_run(pmin(weights * terms, epsilon / 2), weights, datasets, 2, epsilon / 2)
}

# Quantity: an LW run on a table of two columns, each with weights of its own, from its own bounds. The
# second column follows the first, over `half_width`.
by_column_run <- function(outcome, mean, log_scale, second, intercept, slope, log_scale_2, half_width, datasets) {
  first_lik <- log_densities(outcome, mean, log_scale)
  second_lik <- matrix(0, length(intercept), length(second))
  for (s in seq_along(intercept)) {
    centre <- intercept[s] + slope[s] * outcome / half_width
    second_lik[s, ] <- dnorm(second, centre, exp(log_scale_2[s]), log = TRUE)
  }
  most <- least <- 0
  for (log_lik in list(first_lik, second_lik)) {
    weights <- weights_of_risks(risks_of_bounds(largest_terms(log_lik), "linear"), 1, 0)
    most <- most + weights * apply(log_lik, 2, max)
    least <- least + weights * apply(log_lik, 2, min)
  }
  bound <- max(abs(most), abs(least))
  figures <- c(bound, 2 * bound, 2 * datasets * bound)
  c(in_steps(figures), sapply(figures, up_to_a_tenth))
}

# The delta of m draws at epsilon `total`: the worst two-point mechanism of range `width`, whose log
# ratios are t and t - width.
delta_of_worst <- function(total, width, m) {
  largest <- 0
  for (l in 0:m) {
    t <- (total + (l + 1) * width) / (m + 1)
    if (t < width) {
      q <- (exp(width - t) - 1) / (exp(width - t) - exp(-t))
      k <- 0:m
      loss <- k * t + (m - k) * (t - width)
      largest <- max(largest, sum(dbinom(k, m, q) * pmax(0, 1 - exp(total - loss))))
    }
  }
  largest
}

# Quantity: epsilon of a dataset in a strict run whose settings name the total of all draws. A first
# stage and a noisy number of rows are paid first. Then the claim: without a delta it adds up to the
# total. In steps of 2^-20 nats.
total_run <- function(outcome, mean, log_scale, datasets, draws, total, delta, stage, noise) {
  left <- total - stage - noise
  m <- min(draws, datasets)
  low <- left / m
  high <- left
  if (delta > 0) {
    for (step in 1:80) {
      middle <- (low + high) / 2
      if (delta_of_worst(left, middle, m) <= delta) {
        low <- middle
      } else {
        high <- middle
      }
    }
  }
  round(c(low + stage + noise, m * low + stage + noise) * 2^20) / 2^20
}
