# Data sets that come with R packages.

# The data frame `name` of a package, as data(name, package = package) loads it.
package_data <- function(package, name) {
  place <- new.env()
  utils::data(list = name, package = package, envir = place)
  as.data.frame(place[[name]])
}
