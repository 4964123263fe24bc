# Combining rules for the estimates of m synthetic datasets.
#
# Partially synthetic: Reiter (2003). Fully synthetic: Raghunathan, Reiter and Rubin (2003), with
# Reiter (2002) where the variance is negative. Self-contained.

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
