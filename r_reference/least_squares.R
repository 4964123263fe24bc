# Ordinary least squares by R's lm. Self-contained.

# Quantity: coefficients of y on the columns of the design matrix.
coefficients_of <- function(design, y) {
  unname(lm.fit(design, y)$coefficients)
}

# Quantity: their estimated variances.
variances_of <- function(design, y) {
  unname(summary(lm(y ~ 0 + design))$coefficients[, 2]^2)
}
