# Summaries of identification risks and of their change under weights.
#
# Risk-Efficient Bayesian Data Synthesis (2024), section 2.3.2, Tables 2 and 3. Larger = riskier.
# Self-contained.

# Quantity: maximum, interquartile range, share above the policy threshold.
risk_summary <- function(risk, policy = 0.5) {
  c(max(risk), IQR(risk), sum(risk > policy) / length(risk))
}

# Quantity: the change of each record's risk.
risk_change <- function(unweighted, weighted, rise = 0.25) {
  weighted - unweighted
}

# Quantity: which records rose by at least `rise`.
records_that_rose <- function(unweighted, weighted, rise = 0.25) {
  as.numeric(weighted - unweighted >= rise)
}

# Quantity: places (from 0) of the largest records, then a column of risks in that order.
top_records <- function(by, risk, count = 10) {
  rows <- head(order(-by), count)
  c(rows - 1, risk[rows])
}
