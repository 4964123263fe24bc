# The classes of a few records under a truncated Dirichlet process, by enumeration. Self-contained.

# All ways to put n records into places, one way a row.
all_tables <- function(n, places) {
  if (places == 1) {
    return(matrix(n, 1, 1))
  }
  rows <- lapply(0:n, function(k) cbind(k, all_tables(n - k, places - 1)))
  unname(do.call(rbind, rows))
}

# log p of the classes of records, so many in each class. Class h takes the share Beta(1, a) of what is left,
# the last class takes the rest, and a is Gamma(1/4, 1/4). All are integrated out; a = t^4 makes this smooth.
log_classes <- function(counts) {
  own <- counts[-length(counts)]
  beyond <- sum(counts) - cumsum(own)
  term <- function(t) {
    log_p <- -t^4 / 4
    for (h in seq_along(own)) {
      log_p <- log_p + lbeta(1 + own[h], t^4 + beyond[h]) - lbeta(1, t^4)
    }
    exp(log_p)
  }
  log(4 * 0.25^0.25 / gamma(0.25) * integrate(term, 0, Inf, rel.tol = 1e-10)$value)
}

# Quantity: 1 and the prior mean share of the n records in each class, and last 1 and the chance that all
# records are in one class.
class_means <- function(n, classes) {
  tables <- all_tables(n, classes)
  p <- numeric(nrow(tables))
  for (i in seq_len(nrow(tables))) {
    ways <- lgamma(n + 1) - sum(lgamma(tables[i, ] + 1))
    p[i] <- exp(ways + log_classes(tables[i, ]))
  }
  stopifnot(abs(sum(p) - 1) < 1e-6)
  c(1 + as.vector(p %*% tables) / n, 1 + sum(p[apply(tables, 1, max) == n]))
}
