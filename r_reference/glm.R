# Logistic and Poisson regression by R's glm. Self-contained.

# The fit of y on the columns of the design matrix; family is "logistic" or "poisson".
glm_of <- function(design, y, family) {
  of <- if (family == "logistic") binomial() else poisson()
  suppressWarnings(glm(y ~ 0 + design,
    family = of, control = glm.control(epsilon = 1e-15, maxit = 50)
  ))
}

# Quantity: coefficients on the link's scale.
glm_coefficients <- function(design, y, family) {
  unname(glm_of(design, y, family)$coefficients)
}

# Quantity: their estimated variances.
glm_variances <- function(design, y, family) {
  unname(summary(glm_of(design, y, family))$coefficients[, 2]^2)
}

# Quantity: fitted means.
glm_fitted <- function(design, y, family) {
  unname(glm_of(design, y, family)$fitted.values)
}
