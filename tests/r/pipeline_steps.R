# The steps of the pipeline in loops and in vectors, on the same input.

# Results of every step of one kind, by name.
step_results <- function(folder, vectorised, log_lik, weights, k, y, synthetic, radius) {
  pipeline <- new.env(parent = parent.env(globalenv()))
  sys.source(file.path(folder, "pipeline.R"), pipeline)
  steps <- if (vectorised) pipeline$steps_in_vectors() else pipeline$steps_in_loops(folder)
  bounds <- steps$bounds(log_lik)
  list(
    bounds = bounds, weights = steps$weights(bounds), reweight = steps$reweight(weights, bounds, k),
    risk = steps$risk(y, synthetic, radius), utility = steps$utility(y, synthetic)
  )
}
