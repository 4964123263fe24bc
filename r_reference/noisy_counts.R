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

# log p of the classes of records: the first class has n_1, the second n_2. The stick is Beta(1,
# alpha), alpha is Gamma(1/4, 1/4), and both are integrated out; alpha = t^4 makes this smooth.
log_class_share <- function(n_1, n_2) {
  term <- function(t) {
    alpha <- t^4
    exp(lbeta(1 + n_1, alpha + n_2) - lbeta(1, alpha) - alpha / 4)
  }
  log(4 * 0.25^0.25 / gamma(0.25) * integrate(term, 0, Inf, rel.tol = 1e-10)$value)
}

# log p of two codes with these counts in each of two classes. The shares of a class are Dirichlet(c m),
# with c exponential of mean 5 and m Dirichlet(1/2, 1/2) for both classes, at the middles of equal
# probabilities of both. A code that a rule alone gives is not among the counts.
log_codes <- function(one, other) {
  u <- (seq_len(100) - 0.5) / 100
  at <- expand.grid(m = qbeta(u, 0.5, 0.5), c = qexp(u, 1 / 5))
  a <- cbind(at$c * at$m, at$c * (1 - at$m))
  log_p <- 0
  for (counts in list(one, other)) {
    log_p <- log_p + lgamma(at$c) - lgamma(at$c + sum(counts)) +
      rowSums(lgamma(sweep(a, 2, counts, "+")) - lgamma(a))
  }
  log(mean(exp(log_p)))
}

# All ways to put n records into places, one way a row.
all_tables <- function(n, places) {
  if (places == 1) {
    return(matrix(n, 1, 1))
  }
  rows <- lapply(0:n, function(k) cbind(k, all_tables(n - k, places - 1)))
  unname(do.call(rbind, rows))
}

# Quantity: 1 and the posterior mean share of the n records in each state, given noisy counts of the
# states and of the first column. A state is a code of the first column (0, 1) and one of the second;
# `drawn` says whether the second column of a state is drawn or fixed by a rule.
state_means <- function(n, first, second, drawn, noisy, noisy_first, scales, laplace) {
  states <- length(first)
  log_share <- vapply(0:n, function(k) log_class_share(k, n - k), 0)
  tables <- all_tables(n, 2 * states)
  log_p <- numeric(nrow(tables))
  known <- list()
  codes_of <- function(one, other) {
    key <- paste(c(one, other), collapse = " ")
    if (is.null(known[[key]])) {
      known[[key]] <<- log_codes(one, other)
    }
    known[[key]]
  }
  for (i in seq_len(nrow(tables))) {
    by_class <- matrix(tables[i, ], 2, states, byrow = TRUE)
    value <- lgamma(n + 1) - sum(lgamma(by_class + 1)) + log_share[sum(by_class[1, ]) + 1]
    of_first <- function(h) vapply(0:1, function(code) sum(by_class[h, first == code]), 0)
    of_second <- function(h) {
      codes <- unique(second[drawn == 1])
      vapply(codes, function(code) sum(by_class[h, drawn == 1 & second == code]), 0)
    }
    value <- value + codes_of(of_first(1), of_first(2)) + codes_of(of_second(1), of_second(2))
    counts <- colSums(by_class)
    firsts <- c(sum(counts[first == 0]), sum(counts[first == 1]))
    gap <- c((noisy - counts) / scales[1], (noisy_first - firsts) / scales[2])
    log_p[i] <- value - if (laplace) sum(abs(gap)) else sum(gap^2) / 2
  }
  p <- exp(log_p - max(log_p))
  of_state <- tables[, 1:states] + tables[, states + 1:states]
  1 + as.vector(p %*% of_state) / sum(p) / n
}

# Quantity: 1 and half the posterior mean share of the n records at each level, given noisy counts of them
# under Gaussian noise. The log odds of the second level are s z, s half-t with 3 degrees of freedom and z
# normal, at the middles of equal probabilities of both.
logistic_means <- function(n, noisy, scale) {
  u <- (seq_len(400) - 0.5) / 400
  log_odds <- as.vector(outer(qt((1 + u) / 2, 3), qnorm(u)))
  log_shares <- cbind(plogis(-log_odds, log.p = TRUE), plogis(log_odds, log.p = TRUE))
  tables <- all_tables(n, 2)
  given <- apply(tables, 1, function(counts) mean(exp(log_shares %*% counts)))
  log_p <- log(given) - rowSums(lgamma(tables + 1)) - colSums(((noisy - t(tables)) / scale)^2) / 2
  p <- exp(log_p - max(log_p))
  1 + as.vector(p %*% tables) / sum(p) / n / 2
}

# Quantity: 1 and half the posterior mean share of the n records in each of three cells, given noisy counts
# of them under Gaussian noise. The cells of a normal column end at -1 and 1, and those of a Poisson column
# begin at 0, 1 and 3. The coefficient is s z, with s half-t with 3 degrees of freedom and z normal. The
# deviation of a normal column is half-t too.
cell_means <- function(n, noisy, scale, family) {
  u <- (seq_len(60) - 0.5) / 60
  at <- expand.grid(s = qt((1 + u) / 2, 3), z = qnorm(u), sigma = qt((1 + u) / 2, 3))
  eta <- at$s * at$z
  below <- if (family == "normal") {
    cbind(pnorm((-1 - eta) / at$sigma), pnorm((1 - eta) / at$sigma))
  } else {
    cbind(ppois(0, exp(pmin(eta, 300))), ppois(2, exp(pmin(eta, 300))))
  }
  shares <- cbind(below[, 1], below[, 2] - below[, 1], 1 - below[, 2])
  log_shares <- log(pmax(shares, 1e-300))
  tables <- all_tables(n, 3)
  given <- apply(tables, 1, function(counts) mean(exp(log_shares %*% counts)))
  log_p <- log(given) - rowSums(lgamma(tables + 1)) - colSums(((noisy - t(tables)) / scale)^2) / 2
  p <- exp(log_p - max(log_p))
  1 + as.vector(p %*% tables) / sum(p) / n / 2
}
