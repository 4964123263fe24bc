# Likelihood weights alpha_i in [0, 1]: LW, CW and marginal, SW. Larger = less protected.
#
# Vector-weighted Mechanisms (2024): Algorithm 1, steps 1 to 4 (LW), Algorithm 2, step 4 (CW), and
# section 3 (SW). Self-contained.

# Keep a weight within [0, 1]: the last two lines of Appendix 1, step 4.
within_unit <- function(weight) {
  if (weight <= 0) {
    0
  } else if (weight >= 1) {
    1
  } else {
    weight
  }
}

# Algorithm 1, step 4 and Algorithm 2, step 4: alpha_i = c (1 - risk_i) + g, within [0, 1].
weights_from_risks <- function(risk, c = 1, g = 0) {
  weights <- numeric(length(risk))
  for (i in seq_along(risk)) {
    weights[i] <- within_unit(c * (1 - risk[i]) + g)
  }
  weights
}

# Algorithm 1, step 3: bounds f_i scaled to risks (f_i - min f) / (max f - min f). A record without a
# finite bound takes no part in the scaling and has risk 1. Two other maps come from the R package
# LipschitzWeights of Hornby and Hu: softmax, an S-shaped curve of the standardised bound, and
# logistic, a curve of the bound itself that starts at 0.
scaled_bounds <- function(by_record, map = "linear") {
  bounded <- is.finite(by_record)
  f <- by_record[bounded]
  if (map != "logistic" && min(f) == max(f)) {
    stop("all bounds are equal: LW has no scale")
  }
  centre <- mean(f)
  spread <- sd(f)
  risks <- rep(1, length(by_record))
  for (i in seq_along(by_record)) {
    if (bounded[i]) {
      risks[i] <- switch(map,
        linear = (by_record[i] - min(f)) / (max(f) - min(f)),
        softmax = 1 / (1 + exp(-1.69897 * (by_record[i] - centre) / spread)),
        logistic = 1 / (1 + exp(-0.5 * by_record[i])) * 2 - 1
      )
    }
  }
  risks
}

# Algorithm 1, steps 3 and 4: risks, then weights. A record without a finite bound has weight 0.
weights_from_bounds <- function(by_record, c = 1, g = 0, map = "linear") {
  risks <- scaled_bounds(by_record, map)
  weights <- numeric(length(by_record))
  for (i in seq_along(by_record)) {
    if (is.finite(by_record[i])) {
      weights[i] <- within_unit(c * (1 - risks[i]) + g)
    }
  }
  weights
}

# Algorithm 1, steps 1 to 4: LW weights of an S x N log-likelihood. Draws whose largest absolute
# value exceeds the quantile at `threshold` are dropped first (Appendix 1, step 2); a record that is
# not finite at any draw has weight 0.
lipschitz_weights <- function(log_lik, c = 1, g = 0, threshold = 1, map = "linear") {
  size <- abs(log_lik)
  size[!is.finite(log_lik)] <- Inf
  by_draw <- numeric(nrow(size))
  for (s in seq_len(nrow(size))) {
    by_draw[s] <- max(size[s, ])
  }
  if (threshold == 1) {
    stays <- rep(TRUE, nrow(size))
  } else {
    stays <- by_draw <= quantile(by_draw, threshold, names = FALSE)
  }
  bounds <- numeric(ncol(size))
  for (i in seq_len(ncol(size))) {
    bounds[i] <- if (all(is.finite(size[, i]))) max(size[stays, i]) else Inf
  }
  weights_from_bounds(bounds, c, g, map)
}

# A map of pyvws, of none of the papers: alpha_i = min(1, (t / f_i)^power), for a public t.
inverse_weights <- function(by_record, t, power = 1) {
  weights <- numeric(length(by_record))
  for (i in seq_along(by_record)) {
    weights[i] <- min(1, (t / by_record[i])^power)
  }
  weights
}

# Section 3, SW: one weight for all n records, the bound to meet over the unweighted bound.
scalar_weights <- function(n, target, unweighted) {
  rep(min(1, target / unweighted), n)
}

# Strict weights inside a clamp. Each weight is a function of its own record and of constants that the
# confidential table does not change.

# A risk from a size f_i on the scale from `low` to `high`, and the weight. A record without a finite
# size has weight 0.
fixed_scale_weight <- function(size, low, high, c, g) {
  if (!is.finite(size)) {
    return(0)
  }
  within_unit(c * (1 - within_unit((size - low) / (high - low))) + g)
}

# From a public column of weights: alpha_i = c w_i + g, within [0, 1].
column_weights <- function(column, c = 1, g = 0) {
  weights <- numeric(length(column))
  for (i in seq_along(column)) {
    weights[i] <- within_unit(c * column[i] + g)
  }
  weights
}

# From sizes f_i under a fit to public records, and the sizes of the public records themselves, whose
# least and largest are the constants.
reference_weights <- function(sizes, public, c = 1, g = 0) {
  public <- public[is.finite(public)]
  weights <- numeric(length(sizes))
  for (i in seq_along(sizes)) {
    weights[i] <- fixed_scale_weight(sizes[i], min(public), max(public), c, g)
  }
  weights
}

# From one draw of a first stage: f_i = a_i - l_i, half the unit deviance, on the scale from 0 to S.
staged_weights <- function(log_lik, saturated, scale, c = 1, g = 0) {
  weights <- numeric(length(log_lik))
  for (i in seq_along(log_lik)) {
    half_deviance <- max(saturated[i] - log_lik[i], 0)
    weights[i] <- fixed_scale_weight(half_deviance, 0, scale, c, g)
  }
  weights
}
