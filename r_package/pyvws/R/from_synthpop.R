#' Words of synthpop and sdcMicro
#'
#' | there | here |
#' | --- | --- |
#' | `syn(data, m = 5)` | `syn(data, m = 5, schema = , mechanism = )` |
#' | `syn()$syn` | `synthesize()$datasets` |
#' | `compare(syn, data)`, `utility.gen`, `utility.tables` | `compare(data, syn)` |
#' | `lm.synds`, `summary` of it | `combine()`, or `vws$regression_utility` |
#' | `sdc`, `replicated.uniques`, `disclosure` | `risk(data, syn, keys = , target = )` |
#' | `createSdcObj(keyVars = )` | `keys` of `risk()` |
#' | `suda2`, `freqCalc` | `risk()` |
#' | `localSuppression`, `pram`, `microaggregation` | none: every value is synthetic |
#'
#' @param data A data frame: the confidential table.
#' @param m How many synthetic tables.
#' @param ... Arguments of [synthesize()]: `schema` and `mechanism` are needed.
#' @return A release.
#' @examples
#' if (vws_available()) {
#'   people <- data.frame(sex = rep(c("f", "m"), 60))
#'   public <- vws$Schema(list(sex = vws$Column(model = "nominal", levels = c("f", "m"))))
#'   syn(people, m = 2, schema = public, mechanism = "noisy-counts", epsilon = 2)$datasets
#' }
#' @name from_synthpop
#' @export
syn <- function(data, m = 5L, ...) synthesize(data, datasets = m, ...)
