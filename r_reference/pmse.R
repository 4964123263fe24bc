# pMSE: how well a logistic regression tells synthetic records from confidential ones.
#
# Woo et al. (2009), Snoke et al. (2018). Smaller = more useful. Self-contained.

# Quantity: the mean squared distance of the fitted probabilities from the synthetic share.
pmse_value <- function(original, synthetic) {
  design <- rbind(original, synthetic)
  is_synthetic <- rep(c(0, 1), c(nrow(original), nrow(synthetic)))
  fit <- glm.fit(design, is_synthetic,
    family = binomial(), control = glm.control(epsilon = 1e-15, maxit = 50)
  )
  mean((fit$fitted.values - nrow(synthetic) / nrow(design))^2)
}

# The null distribution's scale, (1 - c)^2 c / N.
null_scale <- function(original, synthetic) {
  n <- nrow(original) + nrow(synthetic)
  share <- nrow(synthetic) / n
  (1 - share) * (1 - share) * share / n
}

# Quantity: the null mean.
pmse_null_mean <- function(original, synthetic) {
  (ncol(original) - 1) * null_scale(original, synthetic)
}

# Quantity: the null standard deviation.
pmse_null_sd <- function(original, synthetic) {
  sqrt(2 * (ncol(original) - 1)) * null_scale(original, synthetic)
}
