# Any sequence of R's generators under one seed, for the comparison of streams.

# calls: a list of lists, each with the name of a generator and its arguments.
stream <- function(seed, calls, sample_kind = "Rejection") {
  on.exit(RNGkind("Mersenne-Twister", "Inversion", "Rejection"))
  suppressWarnings(set.seed(seed, "Mersenne-Twister", "Inversion", sample_kind))
  draw <- function(call) {
    generator <- if (call$name == "rnegbin") MASS::rnegbin else match.fun(call$name)
    as.numeric(do.call(generator, call$arguments))
  }
  unlist(lapply(calls, draw))
}

quantiles <- function(p) qnorm(p)

# The uniform number of a word of 0, which comes once in 2^32.
least <- function() {
  set.seed(1, "Mersenne-Twister", "Inversion", "Rejection")
  state <- get(".Random.seed", envir = globalenv())
  state[c(2, 4)] <- 1:0 # one word used, and the second is 0
  assign(".Random.seed", state, envir = globalenv())
  runif(1)
}
