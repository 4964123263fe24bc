# R's own random numbers under a seed: what pyvws/r_numbers/r_random.py reproduces to the bit.
#
# R's default kinds: Mersenne Twister, inversion for normal numbers, the "Rejection" rule of R 3.6
# for sampling; one function under "Rounding", the rule before. Self-contained but for MASS.

from_seed <- function(seed, sample_kind = "Rejection") {
  # R warns that "Rounding" is not uniform.
  suppressWarnings(
    set.seed(
      seed,
      kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = sample_kind
    )
  )
}

# n uniform numbers.
uniforms <- function(seed, n) {
  from_seed(seed)
  runif(n)
}

# n uniform numbers between ends.
uniforms_between <- function(seed, n, low, high) {
  from_seed(seed)
  runif(n, low, high)
}

normals <- function(seed, n, mean, sd) {
  from_seed(seed)
  rnorm(n, mean, sd)
}

exponentials <- function(seed, n, rate) {
  from_seed(seed)
  rexp(n, rate)
}

gammas <- function(seed, n, shape, rate) {
  from_seed(seed)
  rgamma(n, shape, rate)
}

betas <- function(seed, n, shape1, shape2) {
  from_seed(seed)
  rbeta(n, shape1, shape2)
}

poissons <- function(seed, n, mu) {
  from_seed(seed)
  as.numeric(rpois(n, mu))
}

binomials <- function(seed, n, size, prob) {
  from_seed(seed)
  as.numeric(rbinom(n, size, prob))
}

# Both forms of the negative binomial, from one stream.
negative_binomials <- function(seed, n, size, prob, mu) {
  from_seed(seed)
  as.numeric(c(rnbinom(n, size, prob), rnbinom(n, size, mu = mu)))
}

mass_negative_binomials <- function(seed, n, mu, theta) {
  from_seed(seed)
  as.numeric(MASS::rnegbin(n, mu, theta))
}

# Counts in columns, one vector after the other.
multinomials <- function(seed, n, size, prob) {
  from_seed(seed)
  as.numeric(rmultinom(n, size, prob))
}

# `size` positions in 1, ..., n, with replacement.
positions <- function(seed, n, size) {
  from_seed(seed)
  as.numeric(sample.int(n, size, replace = TRUE))
}

# Without replacement, and a uniform number after them.
distinct <- function(seed, n, size) {
  from_seed(seed)
  c(as.numeric(sample.int(n, size)), runif(1))
}

# With weights, with replacement and then without.
weighted <- function(seed, size, prob) {
  from_seed(seed)
  n <- length(prob)
  few <- min(size, sum(prob > 0))
  as.numeric(
    c(sample.int(n, size, replace = TRUE, prob = prob), sample.int(n, few, prob = prob))
  )
}

# As R sampled before 3.6: with replacement, without, and with weights.
rounded <- function(seed, n, size, prob) {
  on.exit(from_seed(seed))
  from_seed(seed, "Rounding")
  first <- sample.int(n, size, replace = TRUE)
  second <- sample.int(n, min(n, size))
  as.numeric(c(first, second, sample.int(length(prob), size, replace = TRUE, prob = prob)))
}

# One stream that serves uniform numbers and positions in turn.
mixed <- function(seed, n, size) {
  from_seed(seed)
  first <- runif(size)
  second <- sample.int(n, size, replace = TRUE)
  c(first, second, runif(2), sample.int(2, 3, replace = TRUE))
}

# One record at a time, each with parameters of its own and numbers of every kind.
records <- function(seed, mu, theta, prob) {
  from_seed(seed)
  record <- function(i) {
    component <- which(rmultinom(1, 1, prob) == 1)
    c(
      component, MASS::rnegbin(1, mu[i], theta[i]), rpois(1, mu[i]), rnorm(1, mu[i]),
      rgamma(1, theta[i]), rbeta(1, theta[i], 3), rexp(1), rbinom(1, 200, prob[component]),
      rnbinom(1, theta[i], mu = mu[i]), sample.int(5)
    )
  }
  as.numeric(vapply(seq_along(mu), record, numeric(14)))
}
