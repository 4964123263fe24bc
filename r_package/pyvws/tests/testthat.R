library(testthat)
library(pyvws)

test_check("pyvws")
