# Identification risk: the share of a record's pattern that lies outside a ball around its value.
#
# Vector-weighted Mechanisms (2024), Algorithm 2, steps 1 to 3, and Risk-Efficient Bayesian Data
# Synthesis (2024), Equations 1 and 2. Larger = more isolated = riskier. Self-contained.

# rho_i: a share of |y_i| ("percentage") or a distance ("absolute", also called "fixed"), for each
# outcome.
ball_radius <- function(y, radius, radius_kind) {
  if (radius_kind == "percentage") radius * abs(y) else rep(radius, length.out = length(y))
}

# Is `value` inside B(y, r)? For one outcome [y - rho, y + rho]; the edge belongs to the ball. For
# several, "box" asks it of every outcome, "euclidean" of the sum of squared offsets over reaches.
in_ball <- function(value, y, radius, radius_kind, norm = "box") {
  rho <- ball_radius(y, radius, radius_kind)
  if (norm == "box" || length(y) == 1) {
    return(all(value >= y - rho & value <= y + rho))
  }
  squared <- 0
  for (p in seq_along(y)) {
    if (rho[p] > 0) {
      squared <- squared + ((value[p] - y[p]) / rho[p])^2
    } else if (value[p] != y[p]) {
      squared <- Inf
    }
  }
  squared <= 1
}

# Do records h and i share the value of every known column?
same_pattern <- function(known, h, i) {
  for (column in known) {
    if (column[h] != column[i]) {
      return(FALSE)
    }
  }
  TRUE
}

# `known` as a list of columns: nothing, one column, or a list of columns.
known_columns <- function(known) {
  if (is.null(known)) {
    list()
  } else if (is.list(known)) {
    known
  } else {
    list(known)
  }
}

# Share of M_i whose row of `values` is outside the ball around row i of y, for one record.
share_outside <- function(values, y, i, columns, radius, radius_kind, norm) {
  members <- 0
  outside <- 0
  for (h in seq_len(nrow(values))) {
    if (same_pattern(columns, h, i)) {
      members <- members + 1
      if (!in_ball(values[h, ], y[i, ], radius, radius_kind, norm)) {
        outside <- outside + 1
      }
    }
  }
  outside / members
}

# Algorithm 2, steps 1 to 3: IR_i of the confidential data.
confidential_risk <- function(original, radius, radius_kind, known, norm = "box") {
  columns <- known_columns(known)
  y <- as.matrix(original)
  risk <- numeric(nrow(y))
  for (i in seq_len(nrow(y))) {
    risk[i] <- share_outside(y, y, i, columns, radius, radius_kind, norm)
  }
  risk
}

# Risk-Efficient (2024), Equations 1 and 2, on one synthetic dataset: zero unless the record's own
# synthetic value is in the ball, T_i; otherwise the share of M_i outside.
synthetic_risk <- function(original, values, radius, radius_kind, known, norm) {
  columns <- known_columns(known)
  y <- as.matrix(original)
  values <- as.matrix(values)
  risk <- numeric(nrow(y))
  for (i in seq_len(nrow(y))) {
    if (in_ball(values[i, ], y[i, ], radius, radius_kind, norm)) {
      risk[i] <- share_outside(values, y, i, columns, radius, radius_kind, norm)
    }
  }
  risk
}

# Quantity: IR_i of the confidential data, or the mean over a list of synthetic datasets.
identification_risk <- function(original, synthetic = NULL, radius = 0.2,
                                radius_kind = "percentage", known = NULL, norm = "box") {
  if (is.null(synthetic)) {
    return(confidential_risk(original, radius, radius_kind, known, norm))
  }
  risks <- matrix(0, length(synthetic), nrow(as.matrix(original)))
  for (l in seq_along(synthetic)) {
    risks[l, ] <- synthetic_risk(original, synthetic[[l]], radius, radius_kind, known, norm)
  }
  averaged <- numeric(ncol(risks))
  for (i in seq_along(averaged)) {
    averaged[i] <- mean(risks[, i])
  }
  averaged
}

# Quantity: CW weights straight from the outcome (Algorithm 2, steps 1 to 4).
count_weights <- function(original, radius, c = 1, g = 0, known = NULL) {
  risk <- confidential_risk(original, radius, "percentage", known)
  weights <- numeric(length(risk))
  for (i in seq_along(risk)) {
    weights[i] <- min(1, max(0, c * (1 - risk[i]) + g))
  }
  weights
}
