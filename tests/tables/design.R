# Columns, order and names of R's own design matrix. Text has its levels by code point.
design_of <- function(formula, data) {
  collation <- Sys.getlocale("LC_COLLATE")
  on.exit(Sys.setlocale("LC_COLLATE", collation))
  Sys.setlocale("LC_COLLATE", "C")
  made <- model.matrix(as.formula(formula), data)
  matrix <- made
  attributes(matrix) <- list(dim = dim(made))
  list(names = as.list(colnames(made)), matrix = matrix, rank = qr(made, tol = 1e-9)$rank)
}

# Numbers as R writes them.
labels_of <- function(values) {
  as.list(as.character(values))
}
