# S_pMSE of a table: a logistic regression with all two-way terms tells synthetic records apart.
#
# Snoke et al. (2018). A table is a matrix of codes, one column a category, and a matrix of numbers,
# NaN where missing. Smaller = more useful; 1 is expected. Self-contained.

# The fitted model of both tables, synthetic records last.
two_way_fit <- function(original_codes, original_numbers, synthetic_codes, synthetic_numbers) {
  codes <- rbind(original_codes, synthetic_codes)
  numbers <- rbind(original_numbers, synthetic_numbers)
  columns <- lapply(seq_len(ncol(codes)), function(place) factor(codes[, place]))
  for (place in seq_len(ncol(numbers))) {
    gone <- is.nan(numbers[, place])
    centre <- mean(numbers[!gone, place])
    columns <- c(columns, list(ifelse(gone, 0, numbers[, place] - centre)))
    if (any(gone)) columns <- c(columns, list(as.numeric(gone)))
  }
  names(columns) <- paste0("x", seq_along(columns))
  table_of <- as.data.frame(columns)
  table_of$is_synthetic <- rep(c(0, 1), c(nrow(original_codes), nrow(synthetic_codes)))
  glm(is_synthetic ~ .^2,
    family = binomial(), data = table_of,
    control = glm.control(epsilon = 1e-14, maxit = 50)
  )
}

# Quantity: the mean squared distance of the fitted probabilities from the synthetic share c.
two_way_value <- function(...) {
  fit <- two_way_fit(...)
  share <- sum(fit$y) / length(fit$y)
  mean((fit$fitted.values - share)^2)
}

# Quantity: its null expectation (k - 1) (1 - c)^2 c / N of k coefficients.
two_way_null_mean <- function(...) {
  fit <- two_way_fit(...)
  n <- length(fit$y)
  share <- sum(fit$y) / n
  (fit$rank - 1) * ((1 - share) * (1 - share) * share / n)
}
