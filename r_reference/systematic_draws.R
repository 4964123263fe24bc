# Systematic uniform numbers for the records of one column. Self-contained.

# The binary digits of a whole number behind the point, the last one first.
mirrored <- function(number) {
  found <- 0
  digit <- 0.5
  while (number > 0) {
    found <- found + digit * (number %% 2)
    number <- number %/% 2
    digit <- digit / 2
  }
  found
}

# Quantity: the first n numbers of van der Corput's sequence.
van_der_corput <- function(n) {
  found <- numeric(n)
  for (j in seq_len(n)) {
    found[j] <- mirrored(j - 1)
  }
  found
}

# Quantity: the numbers of records with these design rows, in the order of the rows' entries and of
# `ties` where rows are equal: van der Corput's sequence moved by one shift, modulo 1, and kept inside
# (0, 1).
uniforms <- function(design, ties, shift) {
  columns <- lapply(seq_len(ncol(design)), function(k) design[, k])
  place <- do.call(order, c(columns, list(ties)))
  found <- numeric(nrow(design))
  found[place] <- (van_der_corput(nrow(design)) + shift) %% 1
  pmin(pmax(found, 2^-53), 1 - 2^-53)
}
