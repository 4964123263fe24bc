#' Synthetic microdata with a statement of their guarantee
#'
#' The Python package of the same name computes everything, and this package calls it. `vws_install()`
#' makes a Python environment for it. `vws()` gives all functions of the Python package.
#'
#' @section Where to begin:
#' - `synthesize()` makes synthetic tables, `schema()` reads or proposes what is public of a table.
#' - `utility()`, `risk()` and `compare()` judge tables of any tool.
#' - `tabulate()` and `combine()` make estimates and intervals of several synthetic tables.
#' - `report()` writes a page for the board and one for the public.
#' - `?from_synthpop` has the words of synthpop and sdcMicro.
#' @keywords internal
"_PACKAGE"

held <- new.env(parent = emptyenv())

#' The functions of the Python package
#'
#' R's vectors, factors, matrices and data frames go in and come out. Warnings of Python are conditions
#' of R, and errors stop.
#'
#' @param module Name of the Python module: "pyvws", or a module of it, such as "pyvws.papers".
#' @return An object whose functions stand behind `$`. `vws$quantile` is `vws()$quantile`.
#' @examples
#' if (vws_available()) vws$quantile(c(1, 2, 3, 50), 0.3)
#' @usage vws(module = "pyvws")
#' @param x,name,pattern,... Of the methods, which `$` and completion call.
#' @export
vws <- structure(function(module = "pyvws") {
  if (is.null(held[[module]])) held[[module]] <- import_pyvws(module)
  held[[module]]
}, class = c("vws_door", "function"))

#' @rdname vws
#' @export
`$.vws_door` <- function(x, name) `$.pyvws_object`(x(), name)

#' @rdname vws
#' @importFrom utils .DollarNames
#' @export
.DollarNames.vws_door <- function(x, pattern = "") .DollarNames.pyvws_object(x(), pattern)

#' @rdname vws
#' @export
print.vws_door <- function(x, ...) print(x())

#' Whether Python has the package
#'
#' @return `TRUE` or `FALSE`. A process keeps its first Python: set `RETICULATE_PYTHON` before.
#' @examples
#' vws_available()
#' @export
vws_available <- function() {
  tryCatch(reticulate::py_module_available("pyvws"), error = function(failed) FALSE)
}

#' Make a Python environment that has the package
#'
#' Where you have one already, name it before the first call: `Sys.setenv(RETICULATE_PYTHON = "path")`.
#'
#' @param from What pip installs: `"pyvws[dp]"` with the noise of noisy counts, a folder with the source
#'   followed by `[dp]`, or a wheel.
#' @param environment Name or folder of the environment; it is made where there is none.
#' @param python Path of a Python of version 3.11 or later; the one that reticulate finds if `NULL`.
#' @return The path of the environment's Python, invisibly. Restart R afterwards.
#' @examples
#' \dontrun{
#' vws_install()
#' }
#' @export
vws_install <- function(from = "pyvws[dp]", environment = "r-pyvws", python = NULL) {
  if (!reticulate::virtualenv_exists(environment)) {
    reticulate::virtualenv_create(environment, python = python)
  }
  reticulate::virtualenv_install(environment, from, ignore_installed = FALSE)
  found <- reticulate::virtualenv_python(environment)
  message("Before the first call of a session: Sys.setenv(RETICULATE_PYTHON = \"", found, "\")")
  invisible(found)
}

#' Help on a function, class or value of the Python package
#'
#' @param what A function or value, such as `vws$synthesize`, or a name, such as "Schema$read".
#'   Without it all names are listed.
#' @return Nothing; the help is shown.
#' @examples
#' if (vws_available()) vws_help("quantile")
#' @name vws_help
#' @usage vws_help(what = NULL)
#' @export vws_help
NULL

# A schema, or that of a file.
schema_of <- function(schema) if (is.character(schema)) vws$Schema$read(schema) else schema

# Arguments that were given: Python has its own defaults for the others.
given <- function(...) Filter(Negate(is.null), list(...))
