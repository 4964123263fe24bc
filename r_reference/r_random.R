# R's own random numbers under a seed: what pyvws/r_random.py reproduces to the bit.
#
# Mersenne Twister, and the "Rejection" rule of R 3.6 for sampling: R's defaults. Self-contained.

# n uniform numbers.
uniforms <- function(seed, n) {
  set.seed(seed, kind = "Mersenne-Twister", sample.kind = "Rejection")
  runif(n)
}

# `size` positions in 1, ..., n, with replacement.
positions <- function(seed, n, size) {
  set.seed(seed, kind = "Mersenne-Twister", sample.kind = "Rejection")
  as.numeric(sample.int(n, size, replace = TRUE))
}

# One stream that serves both in turn.
mixed <- function(seed, n, size) {
  set.seed(seed, kind = "Mersenne-Twister", sample.kind = "Rejection")
  first <- runif(size)
  second <- sample.int(n, size, replace = TRUE)
  c(first, second, runif(2), sample.int(2, 3, replace = TRUE))
}
