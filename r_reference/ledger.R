# What the releases of one table cost together. Costs add up for one kind of neighbours: pure epsilons
# with pure ones, rhos of zCDP with rhos, deltas with deltas; an asymptotic figure enters no strict
# sum. Self-contained.

# Quantity: what releases cost together: epsilon, delta and zCDP of the strict ones, epsilon and the
# window's figure of the asymptotic ones, how many there are of each kind, and whether the neighbours
# replace a record.
#
# kind is 1 for pure epsilon, 2 for counts at (epsilon, delta), 3 for asymptotic and 4 for none. A
# claim is for a record left out or, where replaced is 1, for one replaced; epsilon, delta and rho of
# counts are the claim's. Other figures are of a record left out, and a replacement is two such steps.
releases_together <- function(kind, epsilon, delta, rho, window, replaced) {
  strict <- kind <= 2
  replacing <- any(strict & replaced == 1)
  sums <- c(0, 0, 0, 0, 0)
  for (i in seq_along(kind)) {
    steps <- if (replacing) 2 else 1
    if (kind[i] == 1) {
      pure <- steps * epsilon[i]
      sums <- sums + c(pure, 0, min(pure^2 / 2, steps^2 * rho[i]), 0, 0)
    } else if (kind[i] == 2 && replacing && replaced[i] == 0) {
      grown <- min(1, (1 + exp(epsilon[i])) * delta[i])
      sums <- sums + c(2 * epsilon[i], grown, 2 * rho[i], 0, 0)
    } else if (kind[i] == 2) {
      sums <- sums + c(epsilon[i], delta[i], rho[i], 0, 0)
    } else if (kind[i] == 3) {
      sums <- sums + c(0, 0, 0, steps * epsilon[i], steps * window[i])
    }
  }
  sums[2] <- round(sums[2] * 2^50) / 2^50
  c(sums, sum(strict), sum(kind == 3), sum(kind == 4), as.numeric(replacing))
}
