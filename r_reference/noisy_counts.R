# Noisy counts: the tables that are counted, the delta of their noise, and the posterior of a few
# records by enumeration of all their tables. Self-contained.

# Quantity: the counts of the pairs (1, 2), (1, 3) and (2, 3) of three columns of codes, the last
# column fastest. A record with a code below 0 is in no cell of a pair that has the column.
pair_counts <- function(first, second, third, sizes) {
  columns <- list(first, second, third)
  counts <- c()
  for (pair in list(c(1, 2), c(1, 3), c(2, 3))) {
    one <- factor(columns[[pair[1]]], 0:(sizes[pair[1]] - 1))
    other <- factor(columns[[pair[2]]], 0:(sizes[pair[2]] - 1))
    counts <- c(counts, as.vector(t(table(one, other))))
  }
  counts
}

# The probabilities of discrete Gaussian noise at whole numbers z of reach 12 sigma.
discrete_gaussian <- function(sigma) {
  z <- (-ceiling(12 * sigma)):ceiling(12 * sigma)
  mass <- exp(-z^2 / (2 * sigma^2))
  list(z = z, mass = mass / sum(mass))
}

# Quantity: the delta at epsilon of two counts that move by 1 each, in whole steps of 2^-40, by a
# sum over all pairs of noises.
two_counts_delta <- function(u, multiples, epsilon) {
  sigma <- 1 / sqrt(multiples * u)
  one <- discrete_gaussian(sigma[1])
  other <- discrete_gaussian(sigma[2])
  loss <- outer(
    (2 * one$z + 1) / (2 * sigma[1]^2), (2 * other$z + 1) / (2 * sigma[2]^2), "+"
  )
  mass <- outer(one$mass, other$mass)
  delta <- sum(mass * pmax(0, 1 - exp(epsilon - loss)))
  round(delta * 2^40) / 2^40
}

# The nearest counts that are not below 0 and add up to a total.
on_simplex <- function(counts, total) {
  falling <- sort(counts, decreasing = TRUE)
  over <- (cumsum(falling) - total) / seq_along(falling)
  pmax(counts - over[max(which(falling > over))], 0)
}

# The shares of the codes of two columns, by inverse variances of a pair and of its first column.
noisy_margins <- function(cells, noisy_first, scales, n) {
  precision <- c(1 / (ncol(cells) * scales[1]^2), 1 / scales[2]^2)
  first <- (precision[1] * rowSums(cells) + precision[2] * noisy_first) / sum(precision)
  first <- on_simplex(first, n) + 0.5
  second <- on_simplex(colSums(cells), n) + 0.5
  list(first / sum(first), second / sum(second))
}

softmax <- function(x) exp(x) / sum(exp(x))

# The expected counts of a pair of columns under two classes, by logits of shares and of codes. `codes`
# are the logits of the first class and then of the second, column beside column.
expected_pair <- function(shares, codes, n) {
  pi <- softmax(shares)
  by_class <- matrix(codes, 2, byrow = TRUE)
  expected <- 0
  for (h in 1:2) {
    expected <- expected + n * pi[h] * outer(softmax(by_class[h, 1:2]), softmax(by_class[h, -(1:2)]))
  }
  expected
}

# Quantity: what a fit of two classes minimises, over 100, and 1 plus its slopes by the logits of shares
# and of codes, over 1000, by complex steps. The noisy counts are those of a pair of columns and of its
# first column, about n records. The prior adds .2 records a column, by margins of inverse variances.
fit_slopes <- function(shares, codes, noisy, noisy_first, scales, laplace, n) {
  cells <- matrix(noisy, 2, byrow = TRUE)
  pulled <- noisy_margins(cells, noisy_first, scales, n)
  value <- function(logits) {
    by_class <- matrix(logits[-(1:2)], 2, byrow = TRUE)
    penalty <- 0
    for (h in 1:2) {
      a <- softmax(by_class[h, 1:2])
      b <- softmax(by_class[h, -(1:2)])
      penalty <- penalty - 0.4 * (sum(pulled[[1]] * log(a)) + sum(pulled[[2]] * log(b)))
    }
    expected <- expected_pair(logits[1:2], logits[-(1:2)], n)
    gap <- c(as.vector(expected - cells) / scales[1], (rowSums(expected) - noisy_first) / scales[2])
    penalty + if (laplace) sum(sqrt(gap^2 + 0.2^2)) else sum(gap^2) / 2
  }
  at <- as.complex(c(shares, codes))
  slope <- function(i) {
    moved <- at
    moved[i] <- moved[i] + 1e-30i
    Im(value(moved)) / 1e-30
  }
  c(Re(value(at)) / 100, 1 + vapply(seq_along(at), slope, 0) / 1000)
}

# Quantity: 1 and what the shares of a pair have more than those of two classes. Of the gap the share
# 1 - C / X is kept, of a sum X of squares in deviations of the noise and of what noise alone hardly
# exceeds. Of the rest the covariance z of ranks keeps the share 1 - 1 / z^2.
fit_ties <- function(shares, codes, noisy, noisy_first, scales, laplace, n) {
  cells <- matrix(noisy, 2, byrow = TRUE)
  gap <- cells - expected_pair(shares, codes, n)
  variance <- scales[1]^2 * if (laplace) 2 else 1
  likely <- length(gap) + 2 * sqrt((if (laplace) 5 else 2) * length(gap))
  kept <- max(0, 1 - likely * variance / sum(gap^2))
  rest <- (1 - kept) * gap
  ranks <- lapply(noisy_margins(cells, noisy_first, scales, n), function(x) cumsum(x) - x / 2 - 0.5)
  tie <- outer(ranks[[1]], ranks[[2]])
  along <- sum(tie * rest) / sum(tie^2)
  z_squared <- along^2 * sum(tie^2) / variance
  1 + as.vector(t(gap - rest + max(0, 1 - 1 / z_squared) * along * tie)) / n
}
