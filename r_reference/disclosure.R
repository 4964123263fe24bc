# Identity and attribute disclosure by keys, from cross tables. Larger = riskier. Self-contained.
#
# Raab, Nowok and Dibben (2024). Codes of keys and of targets are whole numbers.

# Quantity: UiO, UiS, UiOiS and repU, as shares.
unique_shares <- function(original, synthetic) {
  keys <- sort(unique(c(original, synthetic)))
  d <- table(factor(original, keys))
  s <- table(factor(synthetic, keys))
  c(
    sum(d[d == 1]) / length(original), sum(s[s == 1]) / length(synthetic),
    sum(d[d == 1 & s > 0]) / length(original), sum(d[d == 1 & s == 1]) / length(original)
  )
}

# Quantity: Dorig, iS, DiS, DiSCO and DiSDiO, as shares of the original records.
attribute_shares <- function(original, original_target, synthetic, synthetic_target) {
  keys <- sort(unique(c(original, synthetic)))
  targets <- sort(unique(c(original_target, synthetic_target)))
  d <- table(factor(original_target, targets), factor(original, keys))
  s <- table(factor(synthetic_target, targets), factor(synthetic, keys))
  of_key <- function(counts) rep(1, nrow(counts)) %o% colSums(counts)
  one_d <- d > 0 & d == of_key(d)
  one_s <- s > 0 & s == of_key(s)
  c(
    sum(d[one_d]), sum(colSums(d)[colSums(s) > 0]), sum(of_key(d)[one_s]), sum(d[one_s]),
    sum(d[one_s & one_d])
  ) / length(original)
}

# Quantity: the share of synthetic records (rows) that equal an original record which is alone.
copied_share <- function(original, synthetic) {
  pattern <- function(x) apply(x, 1, paste, collapse = " ")
  alone <- names(which(table(pattern(original)) == 1))
  mean(pattern(synthetic) %in% alone)
}
