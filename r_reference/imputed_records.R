# Combining rules for imputed records, of which each dataset is a draw given noisy counts.
#
# Rubin (1987). Of figures of the population T = (1 + 1/m) b + v; of the confidential table's own
# figures, whose records are no sample, T = (1 + 1/m) b. Self-contained.

# Estimate, T and degrees of freedom.
joined <- function(estimates, variances, of) {
  m <- length(estimates)
  spread <- (1 + 1 / m) * var(estimates)
  within <- if (of == "population") mean(variances) else 0
  share <- if (spread > 0) 1 + within / spread else Inf
  c(mean(estimates), spread + within, (m - 1) * share^2)
}

# Quantity: estimate, T and degrees of freedom.
imputed_estimate <- function(estimates, variances, of) {
  joined(estimates, variances, of)
}

# Quantity: estimates, T and degrees of freedom of the coefficients of outcome ~ x + group.
imputed_regression <- function(outcomes, x, group, of) {
  fits <- lapply(outcomes, function(outcome) {
    table <- data.frame(outcome = outcome, x = x, group = factor(group))
    summary(lm(outcome ~ x + group, table))$coefficients
  })
  found <- sapply(seq_len(nrow(fits[[1]])), function(k) {
    joined(sapply(fits, function(fit) fit[k, 1]), sapply(fits, function(fit) fit[k, 2]^2), of)
  })
  unname(c(found[1, ], found[2, ], found[3, ]))
}

# The number of records in a cell, and the mean of their numbers, with the variances of independent
# records: of sum_i z_i it is n / (n - 1) sum_i (z_i - mean z)^2.
of_dataset <- function(y, inside) {
  n <- length(y)
  mean <- sum(y[inside]) / sum(inside)
  terms <- cbind(inside, ifelse(inside, y - mean, 0) / sum(inside))
  list(
    estimates = c(sum(inside), mean),
    variances = n / (n - 1) * apply(terms, 2, function(z) sum((z - sum(z) / n)^2))
  )
}

# Quantity: estimate, standard error, degrees of freedom and interval of the counts and then of the
# means by cell of a table of datasets.
imputed_table <- function(y, cell, datasets, of, level) {
  which <- rep(seq_len(datasets), each = length(y) / datasets)
  found <- NULL
  for (code in sort(unique(cell))) {
    each <- lapply(seq_len(datasets), function(d) of_dataset(y[which == d], cell[which == d] == code))
    for (place in 1:2) {
      own <- joined(
        sapply(each, function(x) x$estimates[place]), sapply(each, function(x) x$variances[place]), of
      )
      half <- qt((1 + level) / 2, own[3]) * sqrt(own[2])
      figures <- c(own[1], sqrt(own[2]), own[3], own[1] - half, own[1] + half)
      found <- rbind(found, c(place, code, figures))
    }
  }
  as.vector(found[order(found[, 1], found[, 2]), -(1:2)])
}
