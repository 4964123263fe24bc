# Overlap of the confidence intervals of confidential and synthetic data, after Karr et al. (2006).
# Larger = more useful. Self-contained.

# Quantity: the mean share of the two intervals that they have in common, row by row.
interval_overlap <- function(original, synthetic) {
  shares <- numeric(nrow(original))
  for (k in seq_len(nrow(original))) {
    low <- max(original[k, 1], synthetic[k, 1])
    high <- min(original[k, 2], synthetic[k, 2])
    common <- if (high > low) high - low else 0
    first <- common / (original[k, 2] - original[k, 1])
    second <- common / (synthetic[k, 2] - synthetic[k, 1])
    shares[k] <- (first + second) / 2
  }
  shares
}
