# How far margins and missing cells of two tables are apart. 0 = alike. Self-contained.
#
# The tables are matrices (N, K) of numbers and codes of categories, NA where missing.

# Quantity: the mean distance of the margins: half the sum of the differences of shares, where
# missing is a level, or the largest difference of the distribution functions of what is known.
margin_distance <- function(original, synthetic, categorical) {
  of_column <- function(k) {
    x <- original[, k]
    y <- synthetic[, k]
    if (categorical[k]) {
      levels <- unique(c(x, y))
      share <- function(z) table(factor(z, levels, exclude = NULL)) / length(z)
      return(sum(abs(share(x) - share(y))) / 2)
    }
    at <- c(x, y)
    max(abs(ecdf(x)(at) - ecdf(y)(at)), na.rm = TRUE)
  }
  mean(sapply(seq_along(categorical), of_column))
}

# Quantity: the largest change of a share of records that lack both columns of a pair, or a column.
missing_difference <- function(original, synthetic) {
  both <- function(x) crossprod(is.na(x)) / nrow(x)
  max(abs(both(original) - both(synthetic)))
}
