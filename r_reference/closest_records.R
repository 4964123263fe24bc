# Distances to the closest record by Gower's coefficient, by loops. Smaller = riskier. Self-contained.
#
# Gower (1971). A table is a matrix of codes and a matrix of numbers, NaN where missing.

# Quantity: for each record the least mean difference from another table's records.
closest_of <- function(codes, numbers, other_codes, other_numbers, ranges) {
  difference <- function(x, y, width) {
    if (is.nan(x) || is.nan(y)) return(as.numeric(is.nan(x) != is.nan(y)))
    min(1, abs(x - y) / width)
  }
  sapply(seq_len(nrow(codes)), function(i) {
    min(sapply(seq_len(nrow(other_codes)), function(j) {
      total <- sum(codes[i, ] != other_codes[j, ])
      for (k in seq_len(ncol(numbers))) {
        total <- total + difference(numbers[i, k], other_numbers[j, k], ranges[k])
      }
      total / (ncol(codes) + ncol(numbers))
    }))
  })
}

# Quantity: the share of pairs of distances with the first one smaller, from R's rank sum statistic.
nearer_share <- function(first, second) {
  above <- suppressWarnings(wilcox.test(first, second))$statistic
  1 - unname(above) / (length(first) * length(second))
}
