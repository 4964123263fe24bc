#' How much of a table its synthetic copies keep
#'
#' @param original The confidential table, a data frame.
#' @param synthetic A release, a data frame of any tool, or a list of them.
#' @param schema What is public of the table, or the path of its file; read off the columns if `NULL`.
#' @param ... Further settings: see `vws_help("table_utility")`.
#' @return Figures; they are confidential. Larger k-marginals = more that is kept.
#' @examples
#' if (vws_available()) {
#'   cars <- transform(mtcars[c("cyl", "gear", "mpg")], cyl = factor(cyl), gear = factor(gear))
#'   utility(cars, cars[sample(nrow(cars), replace = TRUE), ])
#' }
#' @export
utility <- function(original, synthetic, schema = NULL, ...) {
  do.call(vws$table_utility, c(list(original, tables_of(synthetic)), given(schema = schema_of(schema)), list(...)))
}

#' @rdname utility
#' @export
compare <- utility

#' What an intruder learns from synthetic tables
#'
#' @inheritParams utility
#' @param keys Names of the columns that an intruder may know of a person.
#' @param target Names of the columns that an intruder wants to know.
#' @param holdout Records that the synthesis did not see, a data frame.
#' @return Figures; they are confidential. Larger = riskier.
#' @examples
#' if (vws_available()) {
#'   cars <- transform(mtcars[c("cyl", "gear", "am")], cyl = factor(cyl), gear = factor(gear))
#'   risk(cars, cars[sample(nrow(cars)), ], keys = c("cyl", "gear"), target = "am")
#' }
#' @export
risk <- function(original, synthetic, keys, target = NULL, holdout = NULL, schema = NULL, ...) {
  settings <- c(given(target = target, holdout = holdout, schema = schema_of(schema)), list(...))
  do.call(vws$table_risk, c(list(original, tables_of(synthetic), keys = as.list(keys)), settings))
}

#' Estimates and intervals of several synthetic tables
#'
#' @param synthetic A release, or the path of its folder: its statement says the rule of the intervals.
#'   Or a list of data frames of another tool.
#' @param by Names of the columns whose levels are the rows.
#' @param count Whether to count records.
#' @param total,mean Names of the columns to add up, or to take means of.
#' @param ... Further settings: see `vws_help("tabulate")`, such as `level` and `of`.
#' @return A data frame with an estimate and its interval in each row.
#' @examples
#' if (vws_available()) tabulate(list(mtcars, mtcars), mean = "mpg")
#' @export
tabulate <- function(synthetic, by = NULL, count = FALSE, total = NULL, mean = NULL, ...) {
  asked <- c(given(by = by, total = total, mean = mean), if (count) list(count = TRUE), list(...))
  folder <- if (inherits(synthetic, "vws_release")) synthetic$folder else synthetic
  if (!is.character(folder)) {
    names <- c("by", "total", "mean")
    asked[names(asked) %in% names] <- lapply(asked[names(asked) %in% names], as.list)
    return(as.data.frame(do.call(vws$tabulate, c(list(tables_of(synthetic)), asked))$columns))
  }
  out <- tempfile("pyvws-")
  on.exit(unlink(out, recursive = TRUE))
  run_command(c("tabulate", folder, as_options(asked), "--out", out, "--quiet"))
  found <- utils::read.csv(file.path(out, "table.csv"), check.names = FALSE)
  if (!is.null(found$counted)) found$counted <- found$counted == "true"
  found
}

#' Combine the estimates of several synthetic tables
#'
#' @param estimates,variances One number for each table.
#' @param release The release that the tables are of; its statement says the rule. Of noisy counts a
#'   count or a total also needs `noise_of_records`, which the public page has.
#' @param ... Further settings: see `vws_help("combine")`.
#' @return An estimate with `$interval(level)`.
#' @examples
#' if (vws_available()) combine(c(1, 3), c(1, 1))
#' @export
combine <- function(estimates, variances, release = NULL, ...) {
  rule <- if (!is.null(release)) {
    given(
      of = if (!is.null(release$privacy$counts)) "population",
      draw_of_dataset = release$privacy$draw_of_dataset
    )
  }
  settings <- utils::modifyList(as.list(rule), list(...))
  do.call(vws$combine, c(list(estimates, variances), settings))
}

#' Weights and bounds of the papers from a log-likelihood
#'
#' @param log_lik A matrix of draws by records, as `rstan::extract(fit)$log_lik` gives it, in nats.
#' @param c,g Scale and shift of the weights; larger = less protected.
#' @param ... Further settings: see `vws_help("lipschitz_weights")`.
#' @return Weights from 0 to 1, one for each record; or bounds with `$by_record` and `$epsilon`.
#' @examples
#' if (vws_available()) {
#'   log_lik <- matrix(-c(1, 2, 3, 4, 5, 7), 2)
#'   lipschitz_weights(log_lik)
#'   lipschitz_bounds(log_lik)$epsilon
#' }
#' @export
lipschitz_weights <- function(log_lik, c = 1, g = 0, ...) {
  vws$lipschitz_weights(log_lik, c = c, g = g, ...)
}

#' @rdname lipschitz_weights
#' @export
lipschitz_bounds <- function(log_lik, ...) vws$lipschitz_bounds(log_lik, ...)

#' A fit that exists already
#'
#' @param fit A stanfit, brmsfit or stanreg, or the path of a file that `saveRDS()` wrote.
#' @param name Name of the object in a file of `save()` that has several.
#' @param ... Further settings: see `vws_help("from_stanfit")`.
#' @return A fit with `$bounds()`, `$lipschitz_weights()` and `$reweight(k)`.
#' @examples
#' \dontrun{
#' from_stanfit("fit.rds")$bounds()$epsilon
#' }
#' @export
from_stanfit <- function(fit, name = "", ...) {
  if (is.character(fit) && all(file.exists(fit))) fit <- contents_of(fit, name)
  vws$from_stanfit(fit, ...)
}

#' Audit a whole run against its own statement
#'
#' @param data The confidential table.
#' @param schema A schema or the path of its file.
#' @param mechanism As in [synthesize()].
#' @param records How many records to leave out, one at a time.
#' @param ... Settings of the run.
#' @return Losses; they are confidential. An audit finds faults, and a small figure proves nothing.
#' @examples
#' \dontrun{
#' audit(people, "schema.toml", "inverse", t = 2)
#' }
#' @export
audit <- function(data, schema, mechanism = NULL, records = 20L, ...) {
  vws$audit(data, schema = schema, mechanism = mechanism, records = records, ...)
}

tables_of <- function(synthetic) {
  if (inherits(synthetic, "vws_release")) return(synthetic$datasets)
  if (is.data.frame(synthetic)) return(list(synthetic))
  if (is.character(synthetic)) return(read_release(synthetic))
  synthetic
}

# The datasets of an output folder, with text as text.
read_release <- function(folder) {
  files <- sort(list.files(file.path(folder, "release"), "^synthetic-[0-9]+[.]csv$", full.names = TRUE))
  if (length(files) == 0) stop("There is no synthetic-01.csv in ", folder, "/release.", call. = FALSE)
  lapply(files, utils::read.csv, na.strings = "", check.names = FALSE, fileEncoding = "UTF-8")
}
