# The perturbed histogram: noisy counts of public bins, their probabilities, records drawn from them.
#
# Wasserman and Zhou (2010), section 4, as compared in Mechanisms for Global Differential Privacy
# (2022). A bin holds its lower end and not its upper one, but for the last, which holds both.
# Self-contained.

# The least number of bins whose cube is not below n: ceiling(n^(1/3)) without a rounded power.
cube_root_bins <- function(n) {
  bins <- 1
  while (bins^3 < n) {
    bins <- bins + 1
  }
  bins
}

# Edges of equal bins of [lower, upper].
equal_edges <- function(lower, upper, bins) {
  c(lower + (upper - lower) * ((0:(bins - 1)) / bins), upper)
}

# C_j: how many values each bin holds.
bin_counts <- function(outcome, edges) {
  bins <- length(edges) - 1
  counts <- numeric(bins)
  for (j in seq_len(bins)) {
    below <- if (j < bins) outcome < edges[j + 1] else outcome <= edges[j + 1]
    counts[j] <- sum(outcome >= edges[j] & below)
  }
  if (sum(counts) != length(outcome)) {
    stop("values outside the edges")
  }
  counts
}

# Scale of the noise: replacing a record moves two counts by one, leaving one out moves one.
noise_scale <- function(epsilon, neighbours = "replace") {
  switch(neighbours, replace = 2, loo = 1) / epsilon
}

# max(D_j, 0) over its sum; all bins alike where nothing is left.
bin_probabilities <- function(counts) {
  kept <- ifelse(counts > 0, counts, 0)
  if (all(kept == 0)) {
    return(rep(1 / length(counts), length(counts)))
  }
  kept / sum(kept)
}

# Laplace noise from R's uniform numbers, by the inverse of its distribution function.
seeded_laplace <- function(size, scale, seed) {
  set.seed(seed, kind = "Mersenne-Twister")
  centred <- runif(size) - 0.5
  -scale * sign(centred) * log1p(-2 * abs(centred))
}

# Probabilities of the bins of [lower, upper] for counts with given noise.
probabilities_with_noise <- function(outcome, lower, upper, noise) {
  counts <- bin_counts(outcome, equal_edges(lower, upper, length(noise)))
  bin_probabilities(counts + noise)
}

# Edges as given, or of equal bins of a range, as many as asked for or by the rule.
chosen_edges <- function(outcome, edges, range, bins, public_n) {
  if (!is.null(edges)) {
    return(edges)
  }
  if (is.null(bins)) {
    bins <- cube_root_bins(if (is.null(public_n)) length(outcome) else public_n)
  }
  equal_edges(range[1], range[2], bins)
}

# Quantity: D_j with noise of R's stream.
noisy_counts <- function(outcome, epsilon, seed, edges = NULL, range = NULL, bins = NULL,
                         public_n = NULL, neighbours = "replace", noise = "seeded-float",
                         allow_outside = FALSE) {
  cuts <- chosen_edges(outcome, edges, range, bins, public_n)
  if (allow_outside) {
    outcome <- pmin(pmax(outcome, cuts[1]), cuts[length(cuts)])
  }
  counts <- bin_counts(outcome, cuts)
  counts + seeded_laplace(length(counts), noise_scale(epsilon, neighbours), seed)
}

# Quantity: records drawn from noisy counts, a bin and a place in it for each. All uniform numbers
# for the bins come first.
synthesized <- function(counts, edges, size, seed) {
  set.seed(seed, kind = "Mersenne-Twister")
  which_bin <- runif(size)
  where <- runif(size)
  probabilities <- bin_probabilities(counts)
  reached <- cumsum(probabilities)
  drawn <- numeric(size)
  for (i in seq_len(size)) {
    j <- which(reached > which_bin[i] * reached[length(reached)])[1]
    drawn[i] <- min(edges[j] + (edges[j + 1] - edges[j]) * where[i], edges[j + 1])
  }
  drawn
}
