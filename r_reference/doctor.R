# What is installed in R.

# Version and folder of each package, empty where it is missing.
installed <- function(packages) {
  folders <- vapply(packages, function(name) system.file(package = name), character(1))
  versions <- vapply(packages, function(name) {
    if (nzchar(system.file(package = name))) as.character(packageVersion(name)) else ""
  }, character(1))
  list(versions = unname(versions), folders = unname(folders))
}
