# Utility by the distance between empirical distribution functions. Smaller = more useful.
#
# Risk-Efficient Bayesian Data Synthesis (2024), utility measures U_m and U_a, after Woo et al.
# (2009). Self-contained.

# F_original - F_synthetic at every value of the two sets merged, duplicates kept.
ecdf_differences <- function(original, values) {
  merged <- c(original, values)
  original_share <- ecdf(original)
  synthetic_share <- ecdf(values)
  differences <- numeric(length(merged))
  for (j in seq_along(merged)) {
    differences[j] <- original_share(merged[j]) - synthetic_share(merged[j])
  }
  differences
}

# Quantity U_m: the largest absolute difference, averaged over the synthetic datasets.
ecdf_maximum <- function(original, synthetic) {
  largest <- numeric(length(synthetic))
  for (l in seq_along(synthetic)) {
    largest[l] <- max(abs(ecdf_differences(original, synthetic[[l]])))
  }
  mean(largest)
}

# Quantity U_a: the mean squared difference, averaged over the synthetic datasets.
ecdf_average <- function(original, synthetic) {
  averages <- numeric(length(synthetic))
  for (l in seq_along(synthetic)) {
    averages[l] <- mean(ecdf_differences(original, synthetic[[l]])^2)
  }
  mean(averages)
}
