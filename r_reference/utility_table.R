# Quantiles (type 7) and the mean of a confidential outcome beside those of synthetic datasets.
#
# Risk-Efficient Bayesian Data Synthesis (2024), utility of quantiles and means. The nearer to the
# confidential ones, the more useful. Self-contained.

# The quantiles of one set of values, then its mean.
summary_row <- function(values, probabilities) {
  c(quantile(values, probs = probabilities, type = 7, names = FALSE), mean(values))
}

# One value for each quantity: `combine` of that quantity over the datasets.
over_datasets <- function(synthetic, probabilities, combine) {
  found <- numeric(length(probabilities) + 1)
  rows <- lapply(synthetic, summary_row, probabilities)
  for (k in seq_along(found)) {
    found[k] <- combine(vapply(rows, function(row) row[k], numeric(1)))
  }
  found
}

# Quantity: of the confidential data.
utility_original <- function(original, synthetic, probabilities) {
  summary_row(original, probabilities)
}

# Quantity: averaged over the synthetic datasets.
utility_average <- function(original, synthetic, probabilities) {
  over_datasets(synthetic, probabilities, mean)
}

# Quantity: the smallest over the synthetic datasets.
utility_lowest <- function(original, synthetic, probabilities) {
  over_datasets(synthetic, probabilities, min)
}

# Quantity: the largest over the synthetic datasets.
utility_highest <- function(original, synthetic, probabilities) {
  over_datasets(synthetic, probabilities, max)
}
