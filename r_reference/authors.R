# Functions of someone else's R files: read, not run. A file is parsed, its function definitions are
# kept as text, and only those that are asked for are evaluated.

# Text of each `name <- function(...)` at the top level of a file, by name.
functions_of <- function(file) {
  parsed <- parse(file, keep.source = TRUE, encoding = "UTF-8")
  sources <- attr(parsed, "srcref")
  found <- list()
  for (place in seq_along(parsed)) {
    if (defines_function(parsed[[place]])) {
      name <- as.character(parsed[[place]][[2]])
      found[[name]] <- paste(as.character(sources[[place]]), collapse = "\n")
    }
  }
  found
}

defines_function <- function(expression) {
  is.call(expression) && is.name(expression[[1]]) &&
    as.character(expression[[1]]) %in% c("<-", "=") && is.name(expression[[2]]) &&
    is.call(expression[[3]]) && identical(expression[[3]][[1]], as.name("function"))
}

# Names of files that a script reads by source(), load() or stan_model(), wherever they are called.
files_read <- function(file) {
  found <- character(0)
  visit <- function(expression) {
    if (is.call(expression)) {
      named <- is.name(expression[[1]]) &&
        as.character(expression[[1]]) %in% c("source", "load", "stan_model")
      if (named && length(expression) > 1 && is.character(expression[[2]])) {
        found <<- c(found, expression[[2]])
      }
      for (part in as.list(expression)) {
        if (!missing(part)) visit(part)
      }
    }
  }
  for (expression in parse(file, keep.source = FALSE, encoding = "UTF-8")) {
    visit(expression)
  }
  found
}

# Names that a function uses but neither it nor R defines, and arguments that it never uses.
loose_names <- function(code, name) {
  f <- eval(parse(text = code, keep.source = FALSE), new.env(parent = baseenv()))
  used <- character(0)
  own <- names(formals(f))
  visit <- function(expression) {
    if (is.name(expression)) {
      used <<- c(used, as.character(expression))
      return()
    }
    if (!is.call(expression)) {
      return()
    }
    head <- if (is.name(expression[[1]])) as.character(expression[[1]]) else ""
    parts <- as.list(expression)[-1]
    if (head %in% c("::", ":::")) {
      return()
    }
    if (head %in% c("$", "@")) {
      parts <- parts[1]
    }
    if (head %in% c("<-", "=", "for") && is.name(parts[[1]])) {
      own <<- c(own, as.character(parts[[1]]))
      parts <- parts[-1]
    }
    for (part in parts) {
      if (!missing(part)) visit(part)
    }
  }
  visit(body(f))
  given <- vapply(used, exists, logical(1), where = globalenv())
  list(
    free = unique(setdiff(as.character(used[!given]), own)),
    unused = setdiff(names(formals(f)), used)
  )
}

# Evaluate function definitions in a place of their own and call one of them; a function's name as
# FUN is looked up first. What it prints goes nowhere.
run_function <- function(code, name, arguments) {
  home <- new.env(parent = parent.env(globalenv()))
  eval(parse(text = code, keep.source = FALSE), home)
  if (!is.null(arguments$FUN)) {
    arguments$FUN <- match.fun(arguments$FUN)
  }
  capture.output(value <- do.call(home[[name]], arguments))
  value
}

# Processor seconds of one call, and its value: what else the machine does is not counted. Sources
# are not kept, as Rscript keeps none: code that parses text would take twice the time.
time_function <- function(code, name, arguments) {
  before <- options(keep.source = FALSE)
  on.exit(options(before))
  spent <- function() sum(proc.time()[c("user.self", "sys.self")])
  began <- spent()
  value <- run_function(code, name, arguments)
  list(seconds = spent() - began, value = value)
}
