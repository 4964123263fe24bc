# pyvws as an R user calls it: vws <- import_pyvws(), then vws$identification_risk(y, radius = 0.2).
# vws_help() lists what there is, and vws_help(vws$synthesize) explains one function.
#
# Values are converted here and not by reticulate, which hands Python a missing integer, truth value
# or text as an ordinary value, cuts whole numbers to 32 bits, and whose older releases know neither
# NumPy 2 nor pandas 3.
#
# To Python: one number, text or truth value as such, longer vectors as lists, data frames and
# factors as pandas', matrices as NumPy's, lists as lists or dicts, NA as missing. Dates, times and
# integer64 cross; another class loses its attributes with a warning. A column that cannot cross
# stays behind with a warning. Back: vectors, arrays, data frames, factors, lists; a path as text;
# whole numbers as integers, as doubles beyond 2^31, as text beyond 2^53, and a seed may be such
# text; times in their zone, or in UTC where they name none; any other object keeps its attributes behind `$`. Python's warnings are R's.

import_pyvws <- function(module = "pyvws") {
  for (class in c("pyvws_object", "pyvws_function")) {
    for (generic in c("$", "[[", "names", "print")) {
      registerS3method(generic, class, get(paste0(generic, ".", class)), envir = baseenv())
    }
    for (generic in c(".DollarNames", "str")) {
      registerS3method(generic, class, get(paste0(generic, ".pyvws_object")), envir = asNamespace("utils"))
    }
  }
  found <- tryCatch(reticulate::import(module, convert = FALSE), error = function(failed) {
    stop("R's Python has no ", module, ". Name one that has it, before the first call: ",
      "Sys.setenv(RETICULATE_PYTHON = \"path\"), or reticulate::use_virtualenv(\"name\").",
      call. = FALSE
    )
  })
  from_python(found)
}

python_side <- function() reticulate::import("pyvws.r.interface", convert = FALSE)

python_of <- function(x) if (is.function(x)) attr(x, "python") else .subset2(x, "python")

part_of <- function(x, name) reticulate::py_to_r(reticulate::py_get_attr(x, name))

`$.pyvws_object` <- function(x, name) {
  if (!reticulate::py_has_attr(python_of(x), name)) {
    near <- utils::head(agrep(name, .DollarNames.pyvws_object(x), value = TRUE, ignore.case = TRUE), 3)
    stop("There is no ", name, " here.",
      if (length(near) > 0) paste0(" Did you mean ", paste(near, collapse = " or "), "?"),
      call. = FALSE
    )
  }
  from_python(reticulate::py_get_attr(python_of(x), name))
}

# A class is called as a function, and has functions of its own: vws$Schema$read("schema.toml").
`$.pyvws_function` <- `$.pyvws_object`

`[[.pyvws_object` <- `[[.pyvws_function` <- `$.pyvws_object`

names.pyvws_object <- names.pyvws_function <- function(x) .DollarNames.pyvws_object(x)

str.pyvws_object <- function(object, ...) print(object)

print.pyvws_object <- function(x, ...) {
  name <- part_of(reticulate::py_get_attr(python_of(x), "__class__"), "__name__")
  parts <- paste0("$", .DollarNames.pyvws_object(x), collapse = " ")
  cat("<", name, " of pyvws> ", parts, "\n", sep = "")
  said <- reticulate::py_str(python_of(x))
  if (nchar(said) <= 200 && !grepl("^<|\n", said)) cat(said, "\n", sep = "")
  invisible(x)
}

print.pyvws_function <- function(x, ...) {
  cat(help_of(x, "brief"), sep = "\n")
  invisible(x)
}

.DollarNames.pyvws_object <- function(x, pattern = "") {
  found <- reticulate::py_list_attributes(python_of(x))
  grep(pattern, found[!startsWith(found, "_")], value = TRUE)
}

# Help on a function, class or value, such as vws$synthesize, or on a name, such as "Schema$read".
vws_help <- function(what = NULL) {
  text <- help_of(what, "full")
  if (!interactive()) return(cat(text, sep = "\n"))
  page <- tempfile(fileext = ".txt")
  on.exit(unlink(page))
  writeLines(text, page, useBytes = TRUE)
  file.show(page, title = "pyvws")
}

help_of <- function(what, form) {
  help <- reticulate::import("pyvws.r.help", convert = FALSE)$help_text
  function_from_python(help, "function")(what, form)
}

# R to Python.

to_python <- function(x) {
  if (inherits(x, c("pyvws_object", "pyvws_function"))) return(python_of(x))
  if (inherits(x, c("stanfit", "brmsfit", "stanreg"))) x <- contents_of(x)
  if (is.null(x) || inherits(x, "python.builtin.object")) return(reticulate::r_to_py(x))
  if (is.function(x)) return(callback_to_python(x))
  if (inherits(x, "formula")) x <- paste(deparse(x, width.cutoff = 500), collapse = " ")
  if (is.data.frame(x)) return(frame_to_python(x))
  if (is.factor(x)) return(vector_to_python(x, "column"))
  if (is.array(x)) return(vector_to_python(x, "array"))
  if (is.list(x) && !inherits(x, "POSIXlt")) return(reticulate::r_to_py(lapply(x, to_python)))
  vector_to_python(x, "value")
}

# What Python needs of a fit, or of the file of one, as the references of R read it; a list of nothing
# of what they do not know.
contents_of <- function(fit, name = "") {
  file <- fit
  if (!is.character(fit)) {
    file <- tempfile(fileext = ".rds")
    on.exit(unlink(file))
    saveRDS(fit, file)
  }
  scripts <- reticulate::import("pyvws._base.resources", convert = FALSE)$folder("r_reference")
  reader <- new.env()
  sys.source(file.path(reticulate::py_str(scripts), "rstan.R"), reader)
  found <- tryCatch(reader$saved_fit(file, name), packageNotFoundError = stop, error = function(failed) NULL)
  if (is.null(found)) stats::setNames(list(), character()) else found
}

# Text as UTF-8. Text of an unknown encoding is taken only where its bytes have one meaning here.
letters_of <- function(x) {
  plain <- is.na(x) | !is.na(iconv(x, "ASCII", "ASCII"))
  unknown <- !plain & !(Encoding(x) %in% c("latin1", "UTF-8"))
  here <- l10n_info()
  if (any(unknown) && !here$`Latin-1`) {
    if (!here$`UTF-8` || !all(validUTF8(x[unknown]))) {
      stop("Text of an unknown encoding does not cross to Python. Say which it is where you read ",
        "it: read.csv(file, fileEncoding = \"latin1\"), or Encoding(x) <- \"UTF-8\".",
        call. = FALSE
      )
    }
  }
  x <- enc2utf8(x)
  if (!all(validUTF8(x))) {
    stop("Text has bytes that are no letters of its encoding. Read it with the encoding of its file.",
      call. = FALSE
    )
  }
  x
}

vector_to_python <- function(x, form) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (anyNA(levels(x))) x <- without_missing_level(x)
  classes <- known_class(x)
  if (is.object(x) && is.null(classes) && !inherits(x, "AsIs") && form != "array") {
    warning("Class ", class(x)[1], " does not cross to Python, its values do. Convert them to ",
      "numbers, text or a factor first if the class matters.",
      call. = FALSE
    )
  }
  kind <- typeof(x)
  values <- as.vector(unclass(x))
  if (kind == "character") {
    missing <- is.na(values)
    values[missing] <- ""
    values <- reticulate::r_to_py(letters_of(values))
    missing <- reticulate::r_to_py(as.raw(missing))
  } else if (kind %in% c("double", "integer", "logical")) {
    missing <- NULL
    values <- blocks_of_bytes(values)
  } else {
    stop("A ", kind, " does not cross. Give it as numbers or text.", call. = FALSE)
  }
  levels <- if (!is.null(levels(x))) letters_of(levels(x))
  answer_of(python_side()$received, lapply(list(
    form, kind, values, missing, classes, levels, attr(x, "tzone")[1], as.list(dim(x)), names(dimnames(x))
  ), reticulate::r_to_py))
}

# The class by which Python knows what a vector means, or NULL.
known_class <- function(x) {
  known <- list(c("ordered", "factor"), "factor", "Date", c("POSIXct", "POSIXt"), "integer64")
  Find(function(classes) inherits(x, classes[1]), known)
}

# addNA() makes a level of what is missing: its records are missing in Python, never the text "NA".
without_missing_level <- function(x) {
  place <- match(NA, levels(x))
  codes <- as.integer(x)
  codes[which(codes == place)] <- NA
  structure(codes - (codes > place), levels = levels(x)[-place], class = class(x))
}

# R makes at most 2^31 bytes at once.
blocks_of_bytes <- function(values, at_once = 2^24) {
  starts <- if (length(values) > 0) seq(1, length(values), by = at_once)
  reticulate::r_to_py(lapply(starts, function(start) {
    writeBin(values[start:min(start + at_once - 1, length(values))], raw())
  }))
}

# A column that cannot cross stays behind: most runs do not use it. Python sorts text by its bytes;
# with options(pyvws.text = "factor") its levels come in the order of R's locale.
frame_to_python <- function(frame) {
  columns <- single_columns(frame)
  text <- getOption("pyvws.text", "text")
  if (!(text %in% c("text", "factor"))) {
    stop("options(pyvws.text = ) takes \"text\" or \"factor\".", call. = FALSE)
  }
  if (text == "factor") {
    columns[] <- lapply(columns, function(x) if (is.character(x) && !is.object(x)) factor(x) else x)
  }
  names(columns) <- letters_of(names(columns))
  crossed <- Map(function(column, name) {
    tryCatch(
      withCallingHandlers(vector_to_python(column, "column"), warning = function(said) {
        warning("Column '", name, "': ", conditionMessage(said), call. = FALSE)
        invokeRestart("muffleWarning")
      }),
      error = function(failed) {
        warning("Column '", name, "' stays behind. ", conditionMessage(failed), call. = FALSE)
      }
    )
  }, unname(columns), names(columns))
  kept <- vapply(crossed, inherits, TRUE, "python.builtin.object")
  python_side()$frame(names(columns)[kept], reticulate::r_to_py(crossed[kept]), nrow(frame))
}

# Matrices and tables among the columns become columns "name.1", "name.2", as write.csv has them.
single_columns <- function(frame) {
  parts <- Map(function(x, name) {
    if (length(dim(x)) != 2) return(stats::setNames(list(x), name))
    inner <- if (is.data.frame(x)) single_columns(x) else as.list(as.data.frame(unclass(x)))
    if (is.null(colnames(x))) names(inner) <- seq_along(inner)
    stats::setNames(inner, if (ncol(x) == 1) name else paste(name, names(inner), sep = "."))
  }, as.list(frame), names(frame))
  do.call(c, unname(parts))
}

callback_to_python <- function(f) {
  reticulate::r_to_py(function(...) to_python(do.call(f, lapply(list(...), from_python))))
}

# Python to R.

from_python <- function(x) {
  if (!inherits(x, "python.builtin.object")) return(x)
  if (inherits(x, "python.builtin.NoneType")) return(NULL)
  sent <- answer_of(python_side()$sent, list(x))
  switch(part_of(sent, "form"),
    vector = vector_from_python(sent),
    frame = structure(named(lapply(items_of(sent), vector_from_python), sent),
      row.names = .set_row_names(part_of(sent, "rows")), class = "data.frame"
    ),
    list = named(lapply(items_of(sent), from_python), sent),
    "function" = function_from_python(x, "pyvws_function"),
    class = function_from_python(x, c("pyvws_class", "pyvws_function")),
    structure(list(python = x), class = "pyvws_object")
  )
}

named <- function(values, sent) {
  names <- as.character(part_of(sent, "names"))
  if (length(names) > 0) stats::setNames(values, names) else values
}

items_of <- function(sent) {
  listed <- reticulate::py_get_attr(sent, "items")
  lapply(seq_len(reticulate::py_len(listed)) - 1L, function(at) listed$`__getitem__`(at))
}

# What Python's function gives; its warnings and its error are conditions of R, by their class.
answer_of <- function(x, given) {
  answer <- do.call(reticulate::py_call, c(list(python_side()$called, x), given))
  condition <- function(class, said, kind) {
    class <- c(class, paste0("pyvws_", kind), kind, "condition")
    structure(class = class, list(message = said, call = NULL))
  }
  said <- part_of(answer, "texts")
  for (at in seq_along(said)) warning(condition(part_of(answer, "categories")[at], said[at], "warning"))
  failed <- part_of(answer, "failed")
  if (length(failed) > 0) stop(condition(failed[1], failed[2], "error"))
  reticulate::py_get_attr(answer, "value")
}

function_from_python <- function(x, classes) {
  called <- function(...) from_python(answer_of(x, lapply(list(...), to_python)))
  structure(called, python = x, class = c(classes, "function"))
}

vector_from_python <- function(sent) {
  kind <- part_of(sent, "kind")
  values <- part_of(sent, "data")
  if (kind == "character") {
    values <- as.character(values)
    values[part_of(sent, "missing") == as.raw(1)] <- NA
  } else {
    size <- if (kind == "double") 8 else 4
    values <- readBin(values, if (kind == "double") kind else "integer", length(values) / size)
    if (kind == "logical") values <- as.logical(values)
  }
  for (name in c("shape", "levels", "classes", "zone")) {
    found <- part_of(sent, name)
    if (length(found) > 0 && !identical(found, "")) {
      attr(values, c(shape = "dim", classes = "class", zone = "tzone", levels = "levels")[name]) <- found
    }
  }
  values
}
