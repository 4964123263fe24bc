# Estimates of a survey by the package survey: totals, means and quantiles of cells, each with its
# standard error by linearisation, clusters with replacement within strata.

# Records with a cell, a stratum and a cluster each; the cells are 1 to `cells`.
survey_of <- function(y, cell, weights, strata, clusters) {
  data <- data.frame(y = y, cell = cell, w = weights, h = strata, c = clusters)
  survey::svydesign(ids = ~c, strata = ~h, weights = ~w, data = data, nest = TRUE)
}

# Estimates of the cells that hold a record, then their standard errors.
by_cell <- function(design, statistic, ...) {
  found <- survey::svyby(~y, ~cell, design, statistic, ...)
  as.numeric(c(stats::coef(found), survey::SE(found)))
}

# Quantity: weighted totals of cells.
survey_totals <- function(y, cell, weights, strata, clusters) {
  by_cell(survey_of(y, cell, weights, strata, clusters), survey::svytotal)
}

# Quantity: weighted means of cells.
survey_means <- function(y, cell, weights, strata, clusters) {
  by_cell(survey_of(y, cell, weights, strata, clusters), survey::svymean)
}

# Quantity: weighted shares of records with a value above 0, of all records.
survey_shares <- function(y, cell, weights, strata, clusters) {
  design <- survey_of(as.numeric(y > 0), cell, weights, strata, clusters)
  found <- survey::svymean(~y, design)
  as.numeric(c(stats::coef(found), survey::SE(found)))
}

# Quantity: weighted quantiles of cells, with Woodruff's standard errors.
survey_quantiles <- function(y, cell, weights, strata, clusters, level) {
  design <- survey_of(y, cell, weights, strata, clusters)
  by_cell(design, survey::svyquantile, quantiles = level)
}

# Quantity: variances of a regression's coefficients, with units as clusters of one stratum.
survey_regression <- function(design, y, family, units) {
  data <- data.frame(y = y, c = units, w = 1)
  of <- switch(family, gaussian = gaussian(), logistic = quasibinomial(), poisson = quasipoisson())
  data$x <- design
  drawn <- survey::svydesign(ids = ~c, weights = ~w, data = data)
  fit <- survey::svyglm(y ~ 0 + x, drawn, family = of, epsilon = 1e-15, maxit = 50)
  unname(survey::SE(fit)^2)
}
