# A listing of a paper, run line by line in a place of its own.

# Evaluate `code` where `inputs` are defined, and return the variables named in `results`.
run_listing <- function(code, inputs, results) {
  home <- list2env(inputs, parent = parent.env(globalenv()))
  eval(parse(text = code, keep.source = FALSE), home)
  found <- mget(results, envir = home)
  lapply(found, as.numeric)
}
