# k-marginal score with k = 2: how near the joint shares of pairs of columns are. Larger = more
# useful, from 0 to 1000.
#
# After SDNist (2023), National Institute of Standards and Technology. Self-contained.

# Quantity: for each pair of columns the sum over cells of |share of original - share of synthetic|,
# from 0 to 2. Both tables hold a whole number from 0 on for the category of each cell.
pair_distances <- function(original, synthetic) {
  distances <- c()
  for (a in seq_len(ncol(original) - 1)) {
    for (b in (a + 1):ncol(original)) {
      first <- 0:max(original[, a], synthetic[, a])
      second <- 0:max(original[, b], synthetic[, b])
      # The second column varies fastest, so its levels are the rows of the cross table.
      share <- function(table_of) {
        table(factor(table_of[, b], second), factor(table_of[, a], first)) / nrow(table_of)
      }
      distances <- c(distances, sum(abs(share(original) - share(synthetic))))
    }
  }
  distances
}

# Quantity: 500 (2 - mean distance over all pairs).
k_marginal_score <- function(original, synthetic) {
  (2 - mean(pair_distances(original, synthetic))) * 500
}

# Quantity: scores of margins, pairs and triples, means over up to three neighbours among tables, and
# over the first with the third.
predicted_scores <- function(tables) {
  compared <- lapply(seq_len(min(3, length(tables) - 1)), function(place) place + 0:1)
  if (length(tables) > 2) {
    compared <- c(compared, list(c(1, 3)))
  }
  scores <- c()
  for (k in seq_len(min(3, ncol(tables[[1]])))) {
    distances <- c()
    for (both in compared) {
      for (columns in combn(ncol(tables[[1]]), k, simplify = FALSE)) {
        cells <- lapply(tables[both], function(x) {
          apply(x[, columns, drop = FALSE], 1, paste, collapse = " ")
        })
        all <- unique(unlist(cells))
        shares <- lapply(cells, function(x) table(factor(x, all)) / length(x))
        distances <- c(distances, sum(abs(shares[[1]] - shares[[2]])))
      }
    }
    scores <- c(scores, (2 - mean(distances)) * 500)
  }
  scores
}

# Quantity: 1 where a score lacks more of the best score than independent columns do, and more than
# twice what a bootstrap lacks; else 0. Elementwise.
worse_than_independent <- function(score, independent, bootstrap, best) {
  worse <- c()
  for (i in seq_along(score)) {
    lacks <- abs(best - score[i])
    margin <- 2 * abs(best - bootstrap[i])
    worse[i] <- if (lacks > abs(best - independent[i]) && lacks > margin) 1 else 0
  }
  worse
}
