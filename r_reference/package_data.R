# Data sets that come with R packages.

# The data frame `object` of a package, as data(name, package = package) loads it.
package_data <- function(package, name, object = name) {
  place <- new.env()
  utils::data(list = name, package = package, envir = place)
  found <- as.data.frame(place[[object]])
  attributes(found) <- attributes(found)[c("names", "row.names", "class")]
  found
}
