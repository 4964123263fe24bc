# Pooled bootstrap estimate and interval of a statistic over synthetic datasets.
#
# Risk-Efficient Bayesian Data Synthesis (2024), section 2.3.1. One stream from set.seed, datasets
# in the outer loop, replicates in the inner. Self-contained.

# The statistics that the cases take.
statistic_of <- function(name) {
  switch(name,
    mean = mean,
    median = median,
    q90 = function(x) quantile(x, 0.9, names = FALSE),
    variance = var
  )
}

# All statistics, pooled.
pooled_statistics <- function(datasets, statistic, n, replicates, seed) {
  set.seed(seed, kind = "Mersenne-Twister", sample.kind = "Rejection")
  compute <- statistic_of(statistic)
  pooled <- numeric(0)
  for (values in datasets) {
    for (replicate in seq_len(replicates)) {
      resample <- values[sample.int(length(values), n, replace = TRUE)]
      pooled <- c(pooled, compute(resample))
    }
  }
  pooled
}

# Quantity: the mean of the pooled statistics.
bootstrap_estimate <- function(datasets, statistic, n, replicates, seed, level = 0.95) {
  mean(pooled_statistics(datasets, statistic, n, replicates, seed))
}

# Quantity: the lower end of the interval, a type 7 quantile.
bootstrap_lower <- function(datasets, statistic, n, replicates, seed, level = 0.95) {
  tail <- round((1 - level) / 2, 12)
  quantile(pooled_statistics(datasets, statistic, n, replicates, seed), tail, names = FALSE)
}

# Quantity: the upper end of the interval, a type 7 quantile.
bootstrap_upper <- function(datasets, statistic, n, replicates, seed, level = 0.95) {
  tail <- round((1 - level) / 2, 12)
  quantile(pooled_statistics(datasets, statistic, n, replicates, seed), 1 - tail, names = FALSE)
}
