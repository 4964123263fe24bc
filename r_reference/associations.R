# Associations of two columns, by R's own chisq.test, lm and cor. 0 = none. Self-contained.

# Quantity: Cramer's V of two categories.
cramers_v <- function(first, second) {
  counts <- table(first, second)
  statistic <- suppressWarnings(chisq.test(counts, correct = FALSE))$statistic
  unname(sqrt(statistic / (sum(counts) * (min(dim(counts)) - 1))))
}

# Quantity: the correlation ratio of a number in a category, the root of R squared.
correlation_ratio <- function(categories, numbers) {
  sqrt(summary(lm(numbers ~ factor(categories)))$r.squared)
}

# Quantity: Spearman's rank correlation of two numbers.
rank_correlation <- function(first, second) {
  cor(first, second, method = "spearman")
}
