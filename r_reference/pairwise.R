# Pairwise weights: 1 minus the mean joint identification risk of a record with the others of its
# pattern.
#
# Risk-Efficient Bayesian Data Synthesis (2024), Equations 6 to 9, and section 7 of its supplement
# (c and g). Larger = less protected. Self-contained.

# Is `value` inside B(y, r) = [y - rho, y + rho]? The ends belong to the ball.
in_ball <- function(value, y, radius, radius_kind) {
  rho <- if (radius_kind == "percentage") radius * abs(y) else radius
  value >= y - rho & value <= y + rho
}

# Column i: which of the values lie outside the ball around value i.
outside_balls <- function(values, radius, radius_kind) {
  outside <- matrix(FALSE, length(values), length(values))
  for (i in seq_along(values)) {
    outside[, i] <- !in_ball(values, values[i], radius, radius_kind)
  }
  outside
}

# The records that share the value of every known column, as a list of positions.
patterns <- function(known, n) {
  if (is.null(known)) {
    return(list(seq_len(n)))
  }
  columns <- if (is.list(known)) known else list(known)
  split(seq_len(n), do.call(paste, columns), drop = TRUE)
}

# Keep a weight within [0, 1].
within_unit <- function(weight) {
  min(1, max(0, weight))
}

# The final weight of a record whose pattern has no group.
lonely_weight <- function(singletons) {
  switch(singletons,
    refuse = stop("a pattern has too few records"),
    "weight-zero" = 0,
    "weight-one" = 1
  )
}

# Quantity: pairwise weights as the paper adds them up, quotient by quotient.
pairwise_weights <- function(original, radius = 0.2, radius_kind = "percentage", known = NULL) {
  weights <- numeric(length(original))
  for (members in patterns(known, length(original))) {
    size <- length(members)
    outside <- outside_balls(original[members], radius, radius_kind)
    for (i in seq_len(size)) {
      joint_risk <- numeric(size)
      for (j in seq_len(size)) {
        joint_risk[j] <- sum(outside[, i] & outside[, j]) / size
      }
      weights[members[i]] <- 1 - sum(joint_risk[-i]) / (size - 1)
    }
  }
  weights
}

# Quantity: the same weights with whole numbers up to one last division, then c and g.
counted_pairwise_weights <- function(original, radius = 0.2, radius_kind = "percentage",
                                     known = NULL, c = 1, g = 0, singletons = "refuse") {
  weights <- numeric(length(original))
  for (members in patterns(known, length(original))) {
    size <- length(members)
    outside <- outside_balls(original[members], radius, radius_kind)
    for (i in seq_len(size)) {
      if (size < 2) {
        weights[members[i]] <- lonely_weight(singletons)
        next
      }
      covered <- 0
      for (j in seq_len(size)[-i]) {
        covered <- covered + sum(!(outside[, i] & outside[, j]))
      }
      weights[members[i]] <- within_unit(c * (covered / (size * (size - 1))) + g)
    }
  }
  weights
}

# Quantity: weights from triples, with whole numbers up to one last division, then c and g.
three_way_weights <- function(original, radius = 0.2, radius_kind = "percentage", known = NULL,
                              c = 1, g = 0, singletons = "refuse") {
  weights <- numeric(length(original))
  for (members in patterns(known, length(original))) {
    size <- length(members)
    outside <- outside_balls(original[members], radius, radius_kind)
    for (i in seq_len(size)) {
      if (size < 3) {
        weights[members[i]] <- lonely_weight(singletons)
        next
      }
      covered <- 0
      triples <- 0
      others <- seq_len(size)[-i]
      for (j in others) {
        for (k in others[others > j]) {
          covered <- covered + sum(!(outside[, i] & outside[, j] & outside[, k]))
          triples <- triples + 1
        }
      }
      weights[members[i]] <- within_unit(c * (covered / (size * triples)) + g)
    }
  }
  weights
}

# Quantity: weights from groups of four, with whole numbers up to one last division, then c and g.
four_way_weights <- function(original, radius = 0.2, radius_kind = "percentage", known = NULL,
                             c = 1, g = 0, singletons = "refuse") {
  weights <- numeric(length(original))
  for (members in patterns(known, length(original))) {
    size <- length(members)
    outside <- outside_balls(original[members], radius, radius_kind)
    for (i in seq_len(size)) {
      if (size < 4) {
        weights[members[i]] <- lonely_weight(singletons)
        next
      }
      covered <- 0
      groups <- 0
      others <- seq_len(size)[-i]
      for (j in others) {
        for (k in others[others > j]) {
          for (m in others[others > k]) {
            all_outside <- outside[, i] & outside[, j] & outside[, k] & outside[, m]
            covered <- covered + sum(!all_outside)
            groups <- groups + 1
          }
        }
      }
      weights[members[i]] <- within_unit(c * (covered / (size * groups)) + g)
    }
  }
  weights
}
