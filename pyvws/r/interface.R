# pyvws as an R user calls it: vws <- import_pyvws(), then vws$identification_risk(y, radius = 0.2).
#
# Values are converted here and not by reticulate, which hands Python a missing integer, truth value
# or text as an ordinary value, and whose older releases know neither NumPy 2 nor pandas 3.
#
# To Python: one number, text or truth value as such, longer vectors as lists, data frames and
# factors as pandas', lists as lists or dicts, NA as missing. Back: vectors, arrays, data frames,
# factors, lists; a path as text; any other object keeps its attributes behind `$`.

import_pyvws <- function(module = "pyvws") {
  registerS3method("$", "pyvws_object", `$.pyvws_object`, envir = baseenv())
  registerS3method("$", "pyvws_class", `$.pyvws_class`, envir = baseenv())
  registerS3method("print", "pyvws_object", print.pyvws_object, envir = baseenv())
  registerS3method(".DollarNames", "pyvws_object", .DollarNames.pyvws_object,
    envir = asNamespace("utils")
  )
  from_python(reticulate::import(module, convert = FALSE))
}

`$.pyvws_object` <- function(x, name) {
  from_python(reticulate::py_get_attr(.subset2(x, "python"), name))
}

# A class is called as a function, and has functions of its own: vws$Schema$read("schema.toml").
`$.pyvws_class` <- function(x, name) {
  from_python(reticulate::py_get_attr(attr(x, "python"), name))
}

print.pyvws_object <- function(x, ...) {
  kind <- reticulate::py_get_attr(.subset2(x, "python"), "__class__")
  name <- reticulate::py_to_r(reticulate::py_get_attr(kind, "__name__"))
  parts <- paste0("$", .DollarNames.pyvws_object(x), collapse = " ")
  cat("<", name, " of pyvws> ", parts, "\n", sep = "")
  said <- reticulate::py_str(.subset2(x, "python"))
  if (nchar(said) <= 200 && !grepl("^<|\n", said)) cat(said, "\n", sep = "")
  invisible(x)
}

.DollarNames.pyvws_object <- function(x, pattern = "") {
  found <- reticulate::py_list_attributes(.subset2(x, "python"))
  grep(pattern, found[!startsWith(found, "_")], value = TRUE)
}

# R to Python.

to_python <- function(x) {
  if (inherits(x, "pyvws_object")) return(.subset2(x, "python"))
  if (inherits(x, "pyvws_class")) return(attr(x, "python"))
  if (is.null(x) || inherits(x, "python.builtin.object")) return(reticulate::r_to_py(x))
  if (is.function(x)) return(callback_to_python(x))
  if (is.data.frame(x)) return(frame_to_python(x))
  if (is.factor(x)) return(column_to_python(x, "factor"))
  refuse_class(x, "A value")
  if (is.array(x)) return(array_to_python(x))
  if (is.list(x)) return(reticulate::r_to_py(lapply(x, to_python)))
  if (length(x) == 1 && !is.na(x)) return(reticulate::r_to_py(unname(x)))
  listed <- list_to_python(x)
  if (length(x) == 1) listed$`__getitem__`(0L) else listed
}

# A Python list; NA as None, or as NaN among numbers.
list_to_python <- function(x) {
  if (is.integer(x) && anyNA(x)) x <- as.numeric(x)
  values <- as.list(unname(as.vector(x)))
  if (!is.double(x)) values[is.na(x)] <- list(NULL)
  reticulate::r_to_py(values)
}

array_to_python <- function(x) {
  numpy <- reticulate::import("numpy", convert = FALSE)
  shape <- reticulate::r_to_py(as.list(dim(x)))
  numpy$array(list_to_python(x))$reshape(shape, order = "F")
}

frame_to_python <- function(frame) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  columns <- Map(column_to_python, as.list(frame), sprintf("Column '%s'", names(frame)))
  names(columns) <- names(frame)
  pandas$DataFrame(reticulate::r_to_py(columns))
}

column_to_python <- function(x, name) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  if (is.factor(x)) {
    codes <- as.integer(x) - 1L
    codes[is.na(codes)] <- -1L
    return(pandas$Series(pandas$Categorical$from_codes(
      list_to_python(codes),
      categories = list_to_python(levels(x)), ordered = is.ordered(x)
    )))
  }
  refuse_class(x, name)
  if (!is.atomic(x)) stop(name, " is a list. Give it one value for each record.", call. = FALSE)
  kinds <- if (anyNA(x)) c("boolean", "Int64") else c("bool", "int64")
  kind <- switch(typeof(x), logical = kinds[1], integer = kinds[2], double = "float64", "object")
  values <- as.list(x)
  if (!is.double(x)) values[is.na(x)] <- list(NULL)
  pandas$Series(reticulate::r_to_py(values), dtype = kind)
}

# Dates, times and other classes would lose what makes them so.
refuse_class <- function(x, name) {
  if (is.object(x) && !inherits(x, "AsIs")) {
    stop(name, " is of class ", class(x)[1], ". Convert it to numbers, text or a factor first.",
      call. = FALSE
    )
  }
}

callback_to_python <- function(f) {
  reticulate::r_to_py(function(...) to_python(do.call(f, lapply(list(...), from_python))))
}

# Python to R.

from_python <- function(x) {
  if (!inherits(x, "python.builtin.object")) return(x)
  if (inherits(x, "numpy.ndarray")) return(array_from_python(x))
  if (inherits(x, "numpy.generic")) return(reticulate::py_to_r(x$item()))
  if (inherits(x, c("pandas.DataFrame", "pandas.core.frame.DataFrame"))) {
    return(frame_from_python(x))
  }
  if (inherits(x, c("pandas.Series", "pandas.core.series.Series"))) return(column_from_python(x))
  if (inherits(x, "python.builtin.dict")) {
    values <- lapply(items_of(x$values()), from_python)
    return(stats::setNames(values, vapply(items_of(x$keys()), reticulate::py_str, "")))
  }
  if (inherits(x, c("python.builtin.list", "python.builtin.tuple"))) {
    return(simplified(lapply(items_of(x), from_python)))
  }
  plain <- sprintf("python.builtin.%s", c("str", "int", "float", "bool", "NoneType"))
  if (inherits(x, plain)) return(reticulate::py_to_r(x))
  if (any(grepl("^pathlib[._].*PurePath$", class(x)))) return(reticulate::py_str(x))
  calls <- sprintf("python.builtin.%s", c("function", "method", "type", "builtin_function_or_method"))
  if (inherits(x, calls)) {
    called <- function(...) {
      from_python(do.call(reticulate::py_call, c(list(x), lapply(list(...), to_python))))
    }
    if (!inherits(x, "python.builtin.type")) return(called)
    return(structure(called, python = x, class = c("pyvws_class", "function")))
  }
  structure(list(python = x), class = "pyvws_object")
}

items_of <- function(x) {
  listed <- reticulate::import_builtins(convert = FALSE)$list(x)
  lapply(seq_len(reticulate::py_len(listed)) - 1L, function(at) listed$`__getitem__`(at))
}

# A vector where every entry is one value of one type, else the list.
simplified <- function(values) {
  kinds <- unique(vapply(values, function(x) if (is.null(dim(x))) typeof(x) else "", ""))
  single <- all(lengths(values) == 1) && !any(vapply(values, is.object, TRUE))
  atomic <- c("logical", "integer", "double", "character")
  if (single && length(kinds) == 1 && kinds %in% atomic) unlist(values) else values
}

array_from_python <- function(x) {
  kind <- reticulate::py_to_r(x$dtype$kind)
  if (reticulate::py_to_r(x$size) == 0) {
    return(switch(kind, b = logical(0), i = , u = integer(0), f = numeric(0), character(0)))
  }
  if (kind %in% c("i", "u") && any(abs(c(
    reticulate::py_to_r(x$min()$item()), reticulate::py_to_r(x$max()$item())
  )) > .Machine$integer.max)) {
    x <- x$astype("float64")
  }
  listed <- x$ravel(order = "F")$tolist()
  values <- if (kind == "O") from_python(listed) else unlist(reticulate::py_to_r(listed))
  shape <- unlist(reticulate::py_to_r(x$shape))
  if (length(shape) > 1) array(values, shape) else values
}

frame_from_python <- function(x) {
  names <- from_python(x$columns$tolist())
  columns <- lapply(seq_along(names) - 1L, function(at) {
    column_from_python(x$iloc$`__getitem__`(reticulate::tuple(
      reticulate::import_builtins(convert = FALSE)$slice(NULL), at
    )))
  })
  rows <- reticulate::py_len(x)
  structure(stats::setNames(columns, names), row.names = .set_row_names(rows), class = "data.frame")
}

column_from_python <- function(x) {
  if (reticulate::py_to_r(x$dtype$name) == "category") {
    codes <- array_from_python(x$cat$codes$to_numpy())
    labels <- as.character(from_python(x$cat$categories$tolist()))
    codes[codes < 0] <- NA
    ordered <- reticulate::py_to_r(x$cat$ordered)
    return(factor(labels[codes + 1L], levels = labels, ordered = ordered))
  }
  missing <- array_from_python(x$isna()$to_numpy())
  kind <- reticulate::py_to_r(x$dtype$kind)
  if (kind == "f") return(array_from_python(x$astype("float64")$to_numpy()))
  if (kind %in% c("b", "i", "u")) {
    type <- if (kind == "b") "bool" else "int64"
    filled <- if (any(missing)) x$fillna(if (kind == "b") FALSE else 0L) else x
    values <- array_from_python(filled$astype(type)$to_numpy())
  } else {
    values <- as.character(from_python(x$astype("object")$where(x$notna(), "")$tolist()))
  }
  values[missing] <- NA
  values
}
