# A stanfit of the papers' program, kept in `saved`; its own log_lik, chain after chain, is returned.
fit <- function(program, saved, data, draws) {
  data$y <- as.array(data$y)
  made <- rstan::sampling(
    readRDS(program), data = data, chains = 2, warmup = 100, iter = 100 + draws, seed = 1,
    refresh = 0, cores = 1
  )
  saveRDS(made, saved)
  own <- rstan::extract(made, pars = "log_lik", permuted = FALSE)
  unname(rbind(own[, 1, ], own[, 2, ]))
}

# A file with a fit or a matrix of 4 draws by 3 records, 2 chains of 2.
written <- function(kind, file) {
  matrix <- -matrix(1:12, 4)
  second <- matrix(c(-7, -8), 2)
  by_chain <- array(matrix, c(2, 2, 3), list(iterations = NULL, chains = NULL, NULL))
  data <- data.frame(y = c(3, 1, 4, 1, 5), w = rep(c(1, 0.5, 0.25, 0.75), 5))
  switch(kind,
    "one of a file" = save(matrix, file = file),
    several = save(matrix, second, file = file),
    saveRDS(switch(kind,
      matrix = matrix, table = as.data.frame(matrix), "by chain" = by_chain,
      brms = {
        # Debian's BH leaves Boost's headers to libboost-dev.
        bundled <- dir.exists(file.path(system.file("include", package = "BH"), "boost"))
        if (!bundled) rstan::rstan_options(boost_lib = "/usr/include")
        brms::brm(y | weights(w) ~ 1, data, chains = 2, iter = 200, warmup = 100, refresh = 0)
      },
      rstanarm = rstanarm::stan_glm(
        y ~ 1, data = data, weights = data$w, chains = 2, iter = 200, warmup = 100, refresh = 0
      )
    ), file)
  )
  TRUE
}

# What is read of a fit whose package answers as brms does, from draws that are made here.
as_brms <- function(script) {
  source <- new.env()
  sys.source(script, source)
  weights <- c(1, 0.5, 0.25)
  home <- list(
    log_lik = function(fit) -matrix(1:12, 4) %*% diag(weights),
    posterior_predict = function(fit) matrix(0, 4, 3),
    standata = function(fit) list(weights = weights)
  )
  methods::setClass("made", methods::representation(sim = "list"), where = globalenv())
  source$fit_of(list(fit = methods::new("made", sim = list(chains = 2))), function(name) home[[name]])
}

# The terms (draws, records) of a saved fit of brms or rstanarm, from its parameters and weights.
terms_of_parameters <- function(file) {
  fit <- readRDS(file)
  draws <- as.matrix(if (is.null(fit$stanfit)) fit$fit else fit$stanfit)
  centre <- draws[, intersect(c("b_Intercept", "(Intercept)"), colnames(draws))]
  t(sapply(seq_len(nrow(draws)), function(s) {
    fit$data$w * dnorm(fit$data$y, centre[s], draws[s, "sigma"], log = TRUE)
  }))
}
