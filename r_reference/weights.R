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
# finite bound takes no part in the scaling and has risk 1.
scaled_bounds <- function(by_record) {
  bounded <- is.finite(by_record)
  lowest <- min(by_record[bounded])
  highest <- max(by_record[bounded])
  if (lowest == highest) {
    stop("all bounds are equal: LW has no scale")
  }
  risks <- rep(1, length(by_record))
  for (i in seq_along(by_record)) {
    if (bounded[i]) {
      risks[i] <- (by_record[i] - lowest) / (highest - lowest)
    }
  }
  risks
}

# Algorithm 1, steps 3 and 4: risks, then weights. A record without a finite bound has weight 0.
weights_from_bounds <- function(by_record, c = 1, g = 0) {
  risks <- scaled_bounds(by_record)
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
lipschitz_weights <- function(log_lik, c = 1, g = 0, threshold = 1) {
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
  weights_from_bounds(bounds, c, g)
}

# Section 3, SW: one weight for all n records, the bound to meet over the unweighted bound.
scalar_weights <- function(n, target, unweighted) {
  rep(min(1, target / unweighted), n)
}
