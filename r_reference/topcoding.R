# Topcoding: what exceeds a threshold becomes the threshold. Self-contained.

# The threshold: given, or a type 7 quantile.
topcode_threshold <- function(original, value = NULL, quantile = NULL) {
  if (is.null(value)) stats::quantile(original, quantile, type = 7, names = FALSE) else value
}

# Quantity: the topcoded values.
topcode_values <- function(original, value = NULL, quantile = NULL) {
  threshold <- topcode_threshold(original, value, quantile)
  coded <- original
  for (i in seq_along(coded)) {
    if (coded[i] > threshold) {
      coded[i] <- threshold
    }
  }
  coded
}

# Quantity: the share of the values that changed.
topcode_share <- function(original, value = NULL, quantile = NULL) {
  sum(original > topcode_threshold(original, value, quantile)) / length(original)
}
