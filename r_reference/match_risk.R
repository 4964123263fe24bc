# Match risks of synthetic data: expected match risk, true and false match rate.
#
# After Hornby and Hu (2021) and Reiter and Mitra (2009). An intruder picks one of the records that
# share the known values and whose synthetic value is in the ball. Larger = riskier, but for the
# false match rate. Self-contained.

# Is `value` (one outcome or several) in the ball around y? "box": every outcome within its own
# reach; "euclidean": offsets over reaches have a sum of squares of at most 1.
in_ball <- function(value, y, radius, radius_kind, norm, ball) {
  rho <- if (radius_kind == "percentage") radius * abs(y) else rep(radius, length.out = length(y))
  if (norm == "box" || length(y) == 1) {
    if (ball == "closed") {
      return(all(value >= y - rho & value <= y + rho))
    }
    return(all(value > y - rho & value < y + rho))
  }
  squared <- 0
  for (p in seq_along(y)) {
    if (rho[p] > 0) {
      squared <- squared + ((value[p] - y[p]) / rho[p])^2
    } else if (value[p] != y[p] || ball == "open") {
      squared <- Inf
    }
  }
  if (ball == "closed") squared <= 1 else squared < 1
}

# c_i and T_i of every record for one synthetic dataset.
matches <- function(original, values, radius, radius_kind, known, norm, ball) {
  original <- as.matrix(original)
  values <- as.matrix(values)
  n <- nrow(original)
  pattern <- rep("", n)
  for (column in if (is.list(known) || is.null(known)) known else list(known)) {
    pattern <- paste(pattern, column)
  }
  found <- numeric(n)
  own <- numeric(n)
  for (i in seq_len(n)) {
    for (h in seq_len(n)) {
      inside <- pattern[h] == pattern[i] &&
        in_ball(values[h, ], original[i, ], radius, radius_kind, norm, ball)
      found[i] <- found[i] + inside
      if (h == i) {
        own[i] <- as.numeric(inside)
      }
    }
  }
  list(found = found, own = own)
}

# One number, or one vector, for each synthetic dataset.
for_each_dataset <- function(measure, original, synthetic, radius, radius_kind, known, norm, ball) {
  lapply(synthetic, function(values) {
    m <- matches(original, values, radius, radius_kind, known, norm, ball)
    measure(m$found, m$own)
  })
}

# Quantity: expected match risk, the sum of T_i / c_i.
expected_match_risk <- function(original, synthetic, radius = 0.2, radius_kind = "percentage",
                                known = NULL, norm = "box", ball = "open") {
  measure <- function(found, own) sum(ifelse(own == 1, 1 / found, 0))
  unlist(for_each_dataset(measure, original, synthetic, radius, radius_kind, known, norm, ball))
}

# Quantity: true match rate, the share of records that are a single and correct match.
true_match_rate <- function(original, synthetic, radius = 0.2, radius_kind = "percentage",
                            known = NULL, norm = "box", ball = "open") {
  measure <- function(found, own) sum(found * own == 1) / length(found)
  unlist(for_each_dataset(measure, original, synthetic, radius, radius_kind, known, norm, ball))
}

# Quantity: false match rate, the share of single matches that are wrong.
false_match_rate <- function(original, synthetic, radius = 0.2, radius_kind = "percentage",
                             known = NULL, norm = "box", ball = "open") {
  measure <- function(found, own) sum(found * (1 - own) == 1) / sum(found == 1)
  unlist(for_each_dataset(measure, original, synthetic, radius, radius_kind, known, norm, ball))
}

# Quantity: T_i / c_i of each record, averaged over the datasets.
match_risk_by_record <- function(original, synthetic, radius = 0.2, radius_kind = "percentage",
                                 known = NULL, norm = "box", ball = "open") {
  measure <- function(found, own) ifelse(own == 1, 1 / found, 0)
  rows <- for_each_dataset(measure, original, synthetic, radius, radius_kind, known, norm, ball)
  shares <- do.call(rbind, rows)
  averaged <- numeric(ncol(shares))
  for (i in seq_len(ncol(shares))) {
    averaged[i] <- mean(shares[, i])
  }
  averaged
}
