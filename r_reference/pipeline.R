# The whole LW pipeline in R alone: unweighted, weighted and re-weighted fits by rstan, bounds,
# weights, synthetic datasets, risk and utility. What the package's own pipeline is timed against.
#
# Vector-weighted Mechanisms (2024): Algorithms 1 and 3 and the measures of Risk-Efficient Bayesian
# Data Synthesis (2024), on a negative binomial with an intercept alone. The steps between the fits
# are those of the other files here, which `folder` holds, or the same in vectorised R.

# The steps as the references state them: loops, each number on its own line.
steps_in_loops <- function(folder) {
  home <- new.env(parent = parent.env(globalenv()))
  for (name in c("lipschitz", "weights", "reweight", "identification_risk", "ecdf")) {
    sys.source(file.path(folder, paste0(name, ".R")), home)
  }
  list(
    bounds = home$lipschitz_by_record,
    weights = home$weights_from_bounds,
    reweight = home$reweight,
    risk = function(y, synthetic, radius) home$identification_risk(y, synthetic, radius),
    utility = function(y, synthetic) {
      c(home$ecdf_maximum(y, synthetic), home$ecdf_average(y, synthetic))
    }
  )
}

# The same steps without loops over records.
steps_in_vectors <- function() {
  list(
    bounds = function(log_lik) apply(abs(log_lik), 2, max),
    weights = function(bounds) 1 - (bounds - min(bounds)) / (max(bounds) - min(bounds)),
    reweight = function(weights, bounds, k) {
      raised <- pmin(1, k * weights * max(bounds) / bounds)
      ifelse(weights > 0, ifelse(bounds > 0, raised, 1), 0)
    },
    risk = function(y, synthetic, radius) {
      reach <- radius * abs(y)
      low <- y - reach
      high <- y + reach
      rowMeans(vapply(synthetic, function(values) {
        sorted <- sort(values)
        inside <- findInterval(high, sorted) - findInterval(low, sorted, left.open = TRUE)
        ifelse(values >= low & values <= high, 1 - inside / length(values), 0)
      }, numeric(length(y))))
    },
    utility = function(y, synthetic) {
      share <- ecdf(y)
      found <- vapply(synthetic, function(values) {
        merged <- c(y, values)
        apart <- share(merged) - ecdf(values)(merged)
        c(max(abs(apart)), mean(apart^2))
      }, numeric(2))
      rowMeans(found)
    }
  )
}

# One pseudo posterior fit of `program`: draws and the weighted log-likelihood, S by N.
weighted_fit <- function(program, y, weights, warmup, draws, seed) {
  data <- list(
    n = length(y), K = 1, y = as.integer(y), weights = weights, X = matrix(1, length(y), 1)
  )
  fit <- rstan::sampling(
    program,
    data = data, pars = c("beta", "phi", "log_lik"), chains = 1, warmup = warmup,
    iter = warmup + draws, seed = seed, cores = 1, refresh = 0
  )
  rstan::extract(fit)
}

# The pipeline on counts `y` with the program compiled in `file`. Seconds by kind of step, and what
# came out: the bound and the mean weight of the last fit, the mean risk, U_m and U_a.
lw_pipeline <- function(file, folder, y, vectorised, k, datasets, radius, warmup, draws, seed) {
  program <- readRDS(file)
  steps <- if (vectorised) steps_in_vectors() else steps_in_loops(folder)
  seconds <- c(fits = 0, bounds = 0, datasets = 0, risk = 0, utility = 0)
  timed <- function(kind, expression) {
    began <- proc.time()[["elapsed"]]
    value <- expression
    seconds[[kind]] <<- seconds[[kind]] + proc.time()[["elapsed"]] - began
    value
  }
  fitted <- function(weights, place) {
    fit <- timed("fits", weighted_fit(program, y, weights, warmup, draws, seed + place))
    list(draws = fit, bounds = timed("bounds", steps$bounds(fit$log_lik)))
  }
  set.seed(seed)
  first <- fitted(rep(1, length(y)), 0)
  weights <- steps$weights(first$bounds)
  second <- fitted(weights, 1)
  weights <- steps$reweight(weights, second$bounds, k)
  last <- fitted(weights, 2)
  synthetic <- timed("datasets", lapply(seq_len(datasets), function(l) {
    s <- 1 + (l - 1) * draws %/% datasets
    rnbinom(length(y), size = last$draws$phi[s], mu = exp(last$draws$beta[s, 1]))
  }))
  risk <- timed("risk", steps$risk(y, synthetic, radius))
  utility <- timed("utility", steps$utility(y, synthetic))
  list(
    seconds = as.list(seconds),
    bound = max(last$bounds), mean_weight = mean(weights), mean_risk = mean(risk),
    u_m = utility[1], u_a = utility[2]
  )
}
