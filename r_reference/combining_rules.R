# Combining rules for the estimates of m synthetic datasets.
#
# Partially synthetic: Reiter (2003). Fully synthetic: Raghunathan, Reiter and Rubin (2003), with
# Reiter (2002) where the variance is negative. Imputed records: Rubin (1987). Self-contained.

# Between and within variance, and what follows from them.
combined <- function(estimates, variances, kind, size_ratio) {
  m <- length(estimates)
  between <- var(estimates)
  within <- mean(variances)
  if (kind == "partial") {
    total <- between / m + within
    share <- if (between > 0) 1 + within * m / between else Inf
  } else {
    spread <- (1 + 1 / m) * between
    total <- spread - within
    share <- if (between > 0) 1 - within / spread else Inf
    if (total < 0) {
      total <- size_ratio * within
    }
  }
  list(estimate = mean(estimates), variance = total, df = (m - 1) * share^2)
}

# Quantity: the mean of the estimates.
combined_estimate <- function(estimates, variances, kind = "partial", size_ratio = 1) {
  combined(estimates, variances, kind, size_ratio)$estimate
}

# Quantity: T.
combined_variance <- function(estimates, variances, kind = "partial", size_ratio = 1) {
  combined(estimates, variances, kind, size_ratio)$variance
}

# Quantity: degrees of freedom.
combined_df <- function(estimates, variances, kind = "partial", size_ratio = 1) {
  combined(estimates, variances, kind, size_ratio)$df
}

# Quantity: the t interval.
combined_interval <- function(estimates, variances, level, kind = "partial", size_ratio = 1) {
  found <- combined(estimates, variances, kind, size_ratio)
  upper <- 1 - (1 - level) / 2
  half <- qt(upper, found$df) * sqrt(found$variance)
  c(found$estimate - half, found$estimate + half)
}

# Quantity: estimate, T and degrees of freedom, each draw's datasets averaged first. The draws are
# independent of each other, their datasets are not.
combined_by_draw <- function(estimates, variances, draws) {
  of_draw <- tapply(estimates, factor(draws, unique(draws)), mean)
  d <- length(of_draw)
  between <- var(as.numeric(of_draw))
  within <- mean(variances)
  share <- if (between > 0) 1 + within * d / between else Inf
  c(mean(of_draw), between / d + within, (d - 1) * share^2)
}

# Quantity: estimates, then variances, of the coefficients of outcome ~ x + group over datasets
# that differ in the outcome.
combined_regression <- function(outcomes, x, group, kind = "partial") {
  fits <- lapply(outcomes, function(outcome) {
    table <- data.frame(outcome = outcome, x = x, group = factor(group))
    summary(lm(outcome ~ x + group, table))$coefficients
  })
  terms <- seq_len(nrow(fits[[1]]))
  estimates <- numeric(0)
  variances <- numeric(0)
  for (k in terms) {
    found <- combined(
      vapply(fits, function(fit) fit[k, 1], 0), vapply(fits, function(fit) fit[k, 2]^2, 0), kind, 1
    )
    estimates <- c(estimates, found$estimate)
    variances <- c(variances, found$variance)
  }
  unname(c(estimates, variances))
}

# Imputed records, of which each dataset is a draw given noisy counts. Of figures of the population
# T = (1 + 1/m) b + v; of the confidential table's own figures, whose records are no sample,
# T = (1 + 1/m) b. A count or a total also has the noise of the number of records, of deviation
# `noise` times that number.

# Estimate, T and degrees of freedom.
joined <- function(estimates, variances, of, noise = 0) {
  m <- length(estimates)
  spread <- (1 + 1 / m) * var(estimates)
  within <- if (of == "population") mean(variances) else 0
  known <- (noise * mean(estimates))^2
  share <- if (spread > 0) 1 + within / spread + known / spread else Inf
  c(mean(estimates), spread + within + known, (m - 1) * share^2)
}

# Quantity: estimate, T and degrees of freedom.
imputed_estimate <- function(estimates, variances, of, noise) {
  joined(estimates, variances, of, noise)
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
imputed_table <- function(y, cell, datasets, of, noise, level) {
  which <- rep(seq_len(datasets), each = length(y) / datasets)
  found <- NULL
  for (code in sort(unique(cell))) {
    each <- lapply(seq_len(datasets), function(d) of_dataset(y[which == d], cell[which == d] == code))
    for (place in 1:2) {
      own <- joined(
        sapply(each, function(x) x$estimates[place]), sapply(each, function(x) x$variances[place]),
        of, if (place == 1) noise else 0
      )
      half <- qt((1 + level) / 2, own[3]) * sqrt(own[2])
      figures <- c(own[1], sqrt(own[2]), own[3], own[1] - half, own[1] + half)
      found <- rbind(found, c(place, code, figures))
    }
  }
  as.vector(found[order(found[, 1], found[, 2]), -(1:2)])
}
