# Small R functions that the tests of the bridge call.

same <- function(x) x

storage <- function(x) c(typeof(x), class(x))

# Is each value NA, and not merely NaN?
truly_missing <- function(x) is.na(x) & !is.nan(x)

shown <- function(x) sprintf("%.0f", x)

hexadecimal <- function(x) sprintf("%a", x)

names_of <- function(x) names(x)

labels <- function(x) as.character(x)

day_text <- function(x) format(x, "%Y-%m-%d")

time_text <- function(x) format(x, "%Y-%m-%d %H:%M:%OS6", tz = "UTC")

cell <- function(x, row, column) x[row, column]

automatic_rows <- function(x) .row_names_info(x) < 0

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
    half_day = structure(1.5, class = "Date"),
    nanosecond = as.POSIXct(1.23456789, origin = "1970-01-01", tz = "UTC"),
    never = as.POSIXct(Inf, origin = "1970-01-01", tz = "UTC"),
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
    factor = factor(c("b", NA, "a")),
    whole_date = structure(19000L, class = "Date"),
    berlin = as.POSIXct("2024-07-01 12:00:00", tz = "Europe/Berlin"),
    frame = data.frame(
      n = c(1L, NA), x = c(NaN, NA), f = factor(c("u", "v")),
      d = as.Date(c("2024-02-29", NA)), s = c("a", NA)
    ),
    rows = data.frame(x = c(1, 2), row.names = c("first", "second")),
    subset = data.frame(x = c(1, 2, 3))[c(3, 1), , drop = FALSE],
    named = c(a = 1, b = 2),
    empty = data.frame(),
    latin = {
      text <- "\xe9"
      Encoding(text) <- "latin1"
      text
    },
    nested = list(a = 1:2, b = list(c = "x", d = NULL), e = list(1, TRUE))
  )
}
