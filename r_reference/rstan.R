# rstan as an engine and as a judge of densities. Programs are compiled once into a file of the
# caller's choice and read from there afterwards.

programs <- new.env()

# Compile the program in `source` and keep it, machine code included, in `file`.
compile_program <- function(source, file) {
  rstan::rstan_options(boost_lib = boost_folder())
  flags <- without_debug_symbols()
  if (!is.null(flags)) {
    Sys.setenv(R_MAKEVARS_SITE = flags)
    on.exit(Sys.unsetenv("R_MAKEVARS_SITE"))
  }
  model <- rstan::stan_model(file = source, model_name = "pyvws", save_dso = TRUE)
  saveRDS(model, file)
  # A copy read from the file finds its machine code only once this object's is unloaded, which
  # happens when it is collected.
  rm(model)
  invisible(gc())
  TRUE
}

# A file of compiler flags: R's own ask for debug symbols, which take a sixth of the compiler's time.
# NULL where the site or the session has flags of its own.
without_debug_symbols <- function() {
  given <- nzchar(Sys.getenv("R_MAKEVARS_SITE"))
  if (given || file.exists(file.path(R.home("etc"), "Makevars.site"))) return(NULL)
  flags <- file.path(tempdir(), "Makevars.site")
  writeLines(paste(c("CXXFLAGS", "CXX14FLAGS", "CXX17FLAGS"), "+= -g0"), flags)
  flags
}

# Where Debian puts Boost's headers, if the BH package does not hold them itself.
boost_folder <- function() {
  own <- system.file("include", package = "BH")
  if (nzchar(own) && dir.exists(file.path(own, "boost"))) own else "/usr/include"
}

load_program <- function(file) {
  if (is.null(programs[[file]])) {
    programs[[file]] <- readRDS(file)
  }
  programs[[file]]
}

# Stan tells a vector of length one from a number, R does not: `vectors` names the vectors.
shaped <- function(values, vectors) {
  for (name in intersect(vectors, names(values))) {
    values[[name]] <- as.array(values[[name]])
  }
  values
}

# Draws after warm-up: chains in the order of `initial`, one after the other in this process.
run_program <- function(file, data, vectors, initial, keep, chains, warmup, draws, seed,
                        target_accept) {
  model <- load_program(file)
  arguments <- list(
    object = model, data = shaped(data, vectors), chains = chains, warmup = warmup,
    iter = warmup + draws, seed = seed, cores = 1, refresh = 0,
    control = list(adapt_delta = target_accept)
  )
  if (!is.null(initial)) {
    arguments$init <- lapply(initial, shaped, vectors = vectors)
  }
  if (!is.null(keep)) {
    arguments$pars <- keep
  }
  began <- proc.time()[["elapsed"]]
  fit <- do.call(rstan::sampling, arguments)
  seconds <- proc.time()[["elapsed"]] - began
  if (length(fit@sim) == 0) {
    stop("no draws")
  }
  c(written(fit), list(seconds = seconds))
}

# Every column of a fit as (draws, chains, columns), with names and the number of divergences.
written <- function(fit) {
  columns <- rstan::extract(fit, permuted = FALSE, inc_warmup = FALSE)
  statistics <- rstan::get_sampler_params(fit, inc_warmup = FALSE)
  divergent <- sum(vapply(statistics, function(chain) sum(chain[, "divergent__"]), numeric(1)))
  list(
    names = dimnames(columns)[[3]], values = as.vector(columns), dim = dim(columns),
    divergences = divergent
  )
}

# Log density with Jacobians, its gradient and log_lik at each row of `points`.
densities <- function(file, data, vectors, points) {
  fit <- suppressMessages(
    rstan::sampling(load_program(file), data = shaped(data, vectors), chains = 0)
  )
  value <- numeric(nrow(points))
  gradient <- points
  log_lik <- matrix(0, nrow(points), data$n)
  for (i in seq_len(nrow(points))) {
    value[i] <- rstan::log_prob(fit, points[i, ], adjust_transform = TRUE)
    gradient[i, ] <- rstan::grad_log_prob(fit, points[i, ], adjust_transform = TRUE)
    log_lik[i, ] <- rstan::constrain_pars(fit, points[i, ])$log_lik
  }
  list(value = value, gradient = gradient, log_lik = log_lik)
}

# Unconstrained points, a row each, of draws given as lists of the program's variables.
unconstrained <- function(file, data, vectors, draws) {
  fit <- suppressMessages(
    rstan::sampling(load_program(file), data = shaped(data, vectors), chains = 0)
  )
  do.call(rbind, lapply(draws, function(draw) {
    rstan::unconstrain_pars(fit, shaped(draw, vectors))
  }))
}

# y_rep at each row of `points`. The seed is one, so the random numbers are the same for any data.
predictions <- function(file, data, vectors, points) {
  fit <- suppressMessages(
    rstan::sampling(load_program(file), data = shaped(data, vectors), chains = 0, seed = 1)
  )
  made <- matrix(0, nrow(points), data$n)
  for (i in seq_len(nrow(points))) {
    made[i, ] <- rstan::constrain_pars(fit, points[i, ])$y_rep
  }
  made
}

# A fit in a file of saveRDS or save: log_lik (draws, records) chain after chain and the number of
# chains, with the fit's own weights and y_rep where it has them. NULL for what is not known. brms and
# rstanarm multiply their log-likelihoods by their weights.
saved_fit <- function(file, name) {
  fit <- stored(file, name)
  if (inherits(fit, "stanfit")) {
    if (!("log_lik" %in% fit@model_pars)) return(NULL)
    found <- list(log_lik = flat_draws(fit, "log_lik"), chains = fit@sim$chains)
    if ("y_rep" %in% fit@model_pars) found$y_rep <- flat_draws(fit, "y_rep")
    return(found)
  }
  package <- c(brmsfit = "brms", stanreg = "rstanarm")[intersect(class(fit), c("brmsfit", "stanreg"))]
  if (length(package) == 1) return(fit_of(fit, function(name) getExportedValue(package, name)))
  if (is.data.frame(fit)) fit <- as.matrix(fit)
  if (!is.numeric(fit) || !(length(dim(fit)) %in% 2:3)) return(NULL)
  chains <- if (length(dim(fit)) == 3) dim(fit)[2] else 1
  list(log_lik = matrix(fit, ncol = rev(dim(fit))[1]), chains = chains)
}

# The object of a file: of an RDS file the one that it has, of others the one of that name or the only.
stored <- function(file, name) {
  found <- tryCatch(list(readRDS(file)), error = function(e) NULL)
  if (!is.null(found)) return(found[[1]])
  home <- new.env()
  names <- load(file, home)
  if (nzchar(name)) names <- intersect(names, name)
  if (length(names) != 1) return(NULL)
  home[[names]]
}

# A quantity of a stanfit as (draws, columns), chain after chain and without warm-up.
flat_draws <- function(fit, name) {
  columns <- rstan::extract(fit, pars = name, permuted = FALSE, inc_warmup = FALSE)
  matrix(columns, dim(columns)[1] * dim(columns)[2], dim(columns)[3])
}

# A fit of brms or rstanarm, by that package's own functions, which `own` gives by name.
fit_of <- function(fit, own) {
  of_stan <- if (is.null(fit$stanfit)) fit$fit else fit$stanfit
  weights <- if (is.null(fit$stanfit)) own("standata")(fit)$weights else fit$weights
  plain <- function(values) matrix(as.numeric(values), nrow(values))
  found <- list(
    log_lik = plain(own("log_lik")(fit)), chains = of_stan@sim$chains,
    y_rep = plain(own("posterior_predict")(fit))
  )
  if (length(weights) > 0) found$weights <- as.numeric(weights)
  found
}

# A stanfit of terms (draws, records) whose rows come one chain after the other, as rstan makes it of
# CmdStan's files.
stanfit_of <- function(terms, chains) {
  files <- tempfile(paste0("chain", seq_len(chains)), fileext = ".csv")
  on.exit(unlink(files))
  draws <- nrow(terms) / chains
  names <- c("lp__", paste0("log_lik.", seq_len(ncol(terms))))
  said <- paste("#", c(
    "model = terms", "method = sample", paste("num_samples =", draws), "num_warmup = 0", "thin = 1",
    "save_warmup = 0", "seed = 1"
  ))
  for (chain in seq_len(chains)) {
    rows <- cbind(0, terms[(chain - 1) * draws + seq_len(draws), , drop = FALSE])
    cells <- apply(rows, 1, function(row) paste(sprintf("%.17g", row), collapse = ","))
    ended <- paste("#", c("id =", "Elapsed Time: 1 seconds (Warm-up)"), c(chain, ""))
    writeLines(c(said, ended[1], paste(names, collapse = ","), cells, ended[2]), files[chain])
  }
  suppressWarnings(rstan::read_stan_csv(files))
}

# Quantity: the terms (draws, records) that are read of a saved fit, whose rows come one chain after
# the other. `kind` is a stanfit, an array of iterations by chains by records, or one of two objects.
saved_terms <- function(terms, chains, kind) {
  file <- tempfile()
  on.exit(unlink(file))
  by_chain <- array(terms, c(nrow(terms) / chains, chains, ncol(terms)))
  fit <- if (kind == "stanfit") stanfit_of(terms, chains) else by_chain
  other <- 0
  if (kind == "several") save(other, fit, file = file) else saveRDS(fit, file)
  saved_fit(file, if (kind == "several") "fit" else "")$log_lik
}

# Quantity: the terms, weights included, that are read of a fit whose package multiplies by the fit's
# own weights, as brms and rstanarm do.
weighted_terms <- function(terms, weights, chains) {
  fit <- list(stanfit = stanfit_of(terms, chains), weights = weights)
  own <- list(
    log_lik = function(fit) sweep(flat_draws(fit$stanfit, "log_lik"), 2, fit$weights, "*"),
    posterior_predict = function(fit) 0 * terms
  )
  found <- fit_of(fit, function(name) own[[name]])
  stopifnot(found$chains == chains, identical(found$weights, weights))
  found$log_lik
}
