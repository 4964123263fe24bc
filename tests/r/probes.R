# Small R functions that the tests of the bridge call.

same <- function(x) x

storage <- function(x) c(typeof(x), class(x))

shown <- function(x) sprintf("%.0f", x)

hexadecimal <- function(x) sprintf("%a", x)

cell <- function(x, row, column) x[row, column]

automatic_rows <- function(x) .row_names_info(x) < 0

row_names <- function(x) row.names(x)

nothing <- function() NULL

shout <- function(secret) {
  print(secret)
  cat("cat", secret, "\n")
  message("message ", secret)
  warning("warning ", secret)
  secret + 1
}

fail <- function(secret) {
  print(secret)
  stop("the value is ", secret)
}

endless <- function() {
  total <- 0
  repeat {
    total <- total + 1
  }
}

deeper <- function(n) deeper(n + 1) + 1

needs <- function(first, second = 2) first + second

workspace <- function() ls(globalenv())

# Values that R has and Python does not, by name.
odd <- function(which) {
  switch(which,
    complex = 1i,
    raw = as.raw(1),
    closure = function(x) x,
    cube = array(1:8, c(2, 2, 2)),
    table = table(c(1, 1, 2)),
    dimnames = matrix(1:4, 2, dimnames = list(c("a", "b"), NULL)),
    whole_matrix_na = matrix(c(1L, NA), 1),
    factor = factor(c("b", NA, "a")),
    frame = data.frame(x = c(1, 2)),
    repeated = list(a = 1, a = 2),
    partly = list(a = 1, 2),
    comment = structure(1, comment = "x"),
    difference = as.difftime(1, units = "days"),
    invalid = "\xff\xfe",
    bytes = {
      text <- "a\xff"
      Encoding(text) <- "bytes"
      text
    }
  )
}

made <- function(which) {
  switch(which,
    gaps = c(NaN, NA),
    "whole gaps" = c(1L, NA),
    named = c(a = 1, b = 2),
    latin = {
      text <- "\xe9"
      Encoding(text) <- "latin1"
      text
    },
    nested = list(a = 1:2, b = list(c = "x", d = NULL), e = list(1, TRUE))
  )
}
