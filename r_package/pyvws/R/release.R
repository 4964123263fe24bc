#' Synthetic tables of a confidential one
#'
#' A run fits models or counts cells, and writes an output folder. What may leave lies in its folder
#' `release`, and the rest in `confidential`.
#'
#' @param data A data frame: the confidential table.
#' @param schema What is public of it: a schema, or the path of its file. See [schema()].
#' @param mechanism What protects the records: "noisy-counts" for a proven guarantee, "inverse" or "lw"
#'   for the papers' weights, or an object such as [noisy_counts()].
#' @param epsilon,delta Of the mechanism, where it takes them. Larger = less private.
#' @param datasets How many synthetic tables.
#' @param seed A whole number; the same seed gives the same tables, but for secret noise.
#' @param out Folder to write; a folder of the session, which goes with it, if `NULL`.
#' @param overwrite Whether to replace what `out` holds.
#' @param ... Further settings of the Python function: see `vws_help("synthesize")`.
#' @return An object of class `vws_release`: a list of `datasets` (data frames), `privacy` (the statement)
#'   and `folder`. It holds no pointer and nothing confidential, so `saveRDS()` keeps it.
#' @examples
#' if (vws_available()) {
#'   people <- data.frame(sex = rep(c("f", "m"), 60), job = rep(c("a", "b", "c"), 40))
#'   public <- vws$Schema(list(
#'     sex = vws$Column(model = "nominal", levels = c("f", "m")),
#'     job = vws$Column(model = "nominal", levels = c("a", "b", "c"))
#'   ))
#'   release <- synthesize(people, public, "noisy-counts", epsilon = 2, datasets = 2)
#'   print(release)
#'   summary(release)
#' }
#' @export
synthesize <- function(data, schema = NULL, mechanism = NULL, epsilon = NULL, delta = NULL, datasets = 5L,
                       seed = NULL, out = NULL, overwrite = FALSE, ...) {
  settings <- c(
    given(schema = schema, epsilon = epsilon, delta = delta, seed = seed),
    list(mechanism = mechanism, datasets = datasets, ...)
  )
  made <- do.call(vws$synthesize, c(list(data), settings))
  folder <- if (is.null(out)) tempfile("pyvws-") else out
  made$write(folder, overwrite = overwrite)
  public <- schema_of(schema)
  structure(
    list(
      datasets = lapply(made$datasets, as_in, like = data, schema = public),
      privacy = made$privacy,
      folder = normalizePath(folder)
    ),
    class = "vws_release"
  )
}

# Text becomes a factor or a date where the table had one; levels are those of the schema.
as_in <- function(dataset, like, schema) {
  for (name in intersect(names(dataset), names(like))) {
    own <- like[[name]]
    if (inherits(own, "Date") && is.character(dataset[[name]])) {
      dataset[[name]] <- as.Date(dataset[[name]])
    } else if (is.factor(own) && is.character(dataset[[name]]) && !is.null(schema)) {
      levels <- schema$columns[[name]]$levels
      if (!is.null(levels)) {
        dataset[[name]] <- factor(dataset[[name]], levels, ordered = is.ordered(own))
      }
    }
  }
  dataset
}

#' A release of synthetic tables
#'
#' @param x,object A release of [synthesize()].
#' @param original The confidential table, to draw beside the first dataset.
#' @param columns Names of the columns to draw; the first four if `NULL`.
#' @param ... Not used.
#' @return `print` and `plot` give the release, and `summary` a data frame with a row for each fact of
#'   the statement.
#' @name release
NULL

#' @rdname release
#' @export
print.vws_release <- function(x, ...) {
  first <- x$datasets[[1]]
  cat(
    length(x$datasets), " synthetic table", if (length(x$datasets) > 1) "s", " of ", nrow(first), " rows and ", ncol(first), " columns\n",
    x$privacy$guarantee, ": epsilon ", format(x$privacy$epsilon_total), " for all of them\n",
    "folder: ", x$folder, "\n",
    sep = ""
  )
  invisible(x)
}

#' @rdname release
#' @export
summary.vws_release <- function(object, ...) {
  facts <- Filter(function(fact) is.atomic(fact) && length(fact) == 1, unclass(object$privacy))
  data.frame(fact = names(facts), value = vapply(facts, format, ""), row.names = NULL)
}

#' @rdname release
#' @export
plot.vws_release <- function(x, original = NULL, columns = NULL, ...) {
  first <- x$datasets[[1]]
  shown <- if (is.null(columns)) utils::head(names(first), 4) else columns
  strange <- setdiff(shown, names(first))
  if (length(strange) > 0) stop("There is no column ", strange[1], ".", call. = FALSE)
  before <- graphics::par(mfrow = grDevices::n2mfrow(length(shown)))
  on.exit(graphics::par(before))
  for (name in shown) {
    tables <- c(if (!is.null(original)) list(original = original[[name]]), list(synthetic = first[[name]]))
    if (is.numeric(first[[name]])) {
      graphics::boxplot(tables, main = name, horizontal = TRUE)
    } else {
      levels <- sort(unique(unlist(lapply(tables, as.character))))
      shares <- vapply(tables, function(own) {
        as.numeric(prop.table(table(factor(as.character(own), levels))))
      }, numeric(length(levels)))
      graphics::barplot(t(shares), beside = TRUE, names.arg = levels, main = name, las = 2)
    }
  }
  invisible(x)
}

#' Read what is public of a table, or propose it
#'
#' A proposal comes from the records. It is confidential until you have reviewed and signed it.
#'
#' @param from The path of a file `schema.toml`, or a data frame to propose a schema from.
#' @return A schema, with `$write(path)`, `$signed(name)` and `$columns`.
#' @examples
#' if (vws_available()) schema(vws$example("households"))
#' @export
schema <- function(from) {
  if (is.data.frame(from)) return(vws$Schema$propose(from))
  if (!is.character(from) || length(from) != 1) {
    stop("Give a data frame, or the path of a file schema.toml.", call. = FALSE)
  }
  vws$Schema$read(from)
}

#' Counts with noise: a proven guarantee, once for all tables
#'
#' @param epsilon Larger = less private.
#' @param delta 0 for pure differential privacy, or far below one over the number of records.
#' @param ... Further settings: see `vws_help("NoisyCounts")`.
#' @return A mechanism for [synthesize()].
#' @examples
#' if (vws_available()) noisy_counts(1, delta = 1e-6)
#' @export
noisy_counts <- function(epsilon, delta = 0, ...) {
  vws$NoisyCounts(epsilon = epsilon, delta = delta, ...)
}

#' What a run would cost, before any record is read
#'
#' @param schema A schema or the path of its file.
#' @param records How many records the table has.
#' @param ... Settings of [synthesize()], such as `mechanism` and `epsilon`.
#' @return A forecast; its text is shown where it is printed.
#' @examples
#' if (vws_available()) {
#'   level <- vws$Column(model = "table", levels = c("no", "yes"))
#'   forecast(vws$Schema(list(a = level, b = level)), 600, mechanism = "noisy-counts", epsilon = 1)
#' }
#' @export
forecast <- function(schema, records, ...) vws$forecast(schema, records = records, ...)

#' Two pages of a release, for the board and for the public
#'
#' @param release A release of [synthesize()], or the path of its folder.
#' @param original The confidential table, or the path of its csv file, for the board's page.
#' @param ... Options of `pyvws report` by name, such as `keys = c("age", "sex")`.
#' @return The paths of the pages, invisibly.
#' @examples
#' \dontrun{
#' report(release, original = people)
#' }
#' @export
report <- function(release, original = NULL, ...) {
  folder <- if (inherits(release, "vws_release")) release$folder else release
  if (is.data.frame(original)) {
    table <- tempfile(fileext = ".csv")
    on.exit(unlink(table))
    utils::write.csv(original, table, row.names = FALSE, na = "", fileEncoding = "UTF-8")
    original <- table
  }
  run_command(c("report", folder, as_options(given(original = original, ...))))
  pages <- file.path(folder, c("confidential/report.html", "release/report.html"))
  invisible(pages[file.exists(pages)])
}

# Named values as options of a command.
as_options <- function(values) {
  values <- Filter(Negate(isFALSE), values)
  unlist(Map(function(name, value) {
    c(paste0("--", gsub("_", "-", name)), if (!isTRUE(value)) paste(value, collapse = ","))
  }, names(values), values))
}

# What a command of the package prints. R's own libraries must not stand in the way of Python's.
run_command <- function(words) {
  python <- reticulate::py_config()$python
  said <- suppressWarnings(system2(
    python, c("-m", "pyvws", shQuote(words)),
    stdout = TRUE, stderr = TRUE, env = "LD_LIBRARY_PATH="
  ))
  if (is.null(attr(said, "status"))) return(said)
  stop(vws("pyvws.r.help")$in_r(sub("^Error: ", "", paste(said, collapse = " "))), call. = FALSE)
}
