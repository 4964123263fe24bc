# A table of estimates from m synthetic datasets: the package survey in each, then the rules for
# partially synthetic data [reiter2003]. And the noise of its Laplace figures.

# Estimates and variances of one dataset: counts and totals by cell, means by cell, and by cell the
# shares of group 0 and of group 1.
estimates_of <- function(data) {
  design <- survey::svydesign(
    ids = ~cluster, strata = ~stratum, weights = ~w, data = data, nest = TRUE
  )
  statistics <- list(
    list(~one, survey::svytotal), list(~y, survey::svytotal), list(~y, survey::svymean)
  )
  found <- lapply(statistics, function(s) survey::svyby(s[[1]], ~cell, design, s[[2]]))
  shares <- lapply(
    list(~g0, ~g1), function(g) survey::svyby(g, ~cell, design, survey::svymean)
  )
  estimate <- lapply(found, stats::coef)
  error <- lapply(found, survey::SE)
  both <- function(of) as.numeric(rbind(of(shares[[1]]), of(shares[[2]])))
  list(
    estimate = c(unlist(estimate, use.names = FALSE), both(stats::coef)),
    variance = c(unlist(error, use.names = FALSE), both(survey::SE))^2
  )
}

# Quantity: estimate, standard error, degrees of freedom and interval of each figure, in this order.
published_figures <- function(y, group, cell, weights, strata, clusters, datasets, level) {
  which <- rep(seq_len(datasets), each = length(y) / datasets)
  data <- data.frame(
    one = 1, y = y, cell = cell, w = weights, stratum = strata, cluster = clusters,
    g0 = as.numeric(group == 0), g1 = as.numeric(group == 1)
  )
  found <- lapply(split(data, which), estimates_of)
  q <- sapply(found, function(x) x$estimate)
  v <- rowMeans(sapply(found, function(x) x$variance))
  b <- apply(q, 1, stats::var)
  estimate <- rowMeans(q)
  error <- sqrt(v + b / datasets)
  df <- (datasets - 1) * (1 + v / (b / datasets))^2
  half <- stats::qt((1 + level) / 2, df) * error
  c(estimate, error, df, estimate - half, estimate + half)
}

# Quantity: the standard error of the noise of a count and of a total, whose figures are two of
# `statistics` that share epsilon. A record weighs at most `heaviest` over `mean_weight`, a number is
# at most `largest` in size, and a unit has at most `members` records.
laplace_errors <- function(epsilon, statistics, heaviest, mean_weight, largest, members) {
  part <- epsilon / statistics / members
  most <- heaviest / mean_weight
  sqrt(2) * c(most, most * largest) / part
}

