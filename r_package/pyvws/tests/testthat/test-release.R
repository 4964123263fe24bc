people <- function() {
  data.frame(
    sex = factor(rep(c("f", "m"), 100), c("m", "f")),
    born = as.Date("2000-01-01") + rep(0:49, 4)
  )
}

public <- function() {
  vws$Schema(list(
    sex = vws$Column(model = "nominal", levels = c("m", "f")),
    born = vws$Column(
      model = "normal", days_since = "2000-01-01", range = c("2000-01-01", "2000-02-28"),
      cuts = "2000-01-20", formula = ~ sex
    )
  ))
}

test_that("a release keeps the table's types and no pointer", {
  skip_if_not(vws_available())
  release <- synthesize(people(), public(), "noisy-counts", epsilon = 4, datasets = 2)
  first <- release$datasets[[1]]
  expect_identical(levels(first$sex), c("m", "f"))
  expect_s3_class(first$born, "Date")
  file <- tempfile(fileext = ".rds")
  saveRDS(release, file)
  expect_identical(readRDS(file), release)
  expect_output(print(release), "dp: epsilon 4")
  expect_true("guarantee" %in% summary(release)$fact)
  counted <- tabulate(release, by = "sex", count = TRUE)
  expect_length(counted$estimate, 2)
  expect_equal(counted$counted, c(TRUE, TRUE))
  expect_equal(tabulate(release$folder, by = "sex", count = TRUE), counted)
  expect_true(all(file.exists(report(release, people()))))
  rule <- combine(c(1, 3), c(1, 1), release)
  expect_equal(rule$variance, combine(c(1, 3), c(1, 1), of = "population")$variance)
  expect_silent(plot(release, people()))
  grDevices::dev.off()
})

test_that("the same seed gives the bytes of a run in Python", {
  skip_if_not(vws_available())
  run <- function() {
    synthesize(people()["sex"], "schema.toml", "lw",
      datasets = 2, seed = 3, draws = 200, out = "out", overwrite = TRUE
    )
  }
  home <- setwd(tempdir())
  on.exit(setwd(home))
  level <- vws$Column(model = "table", levels = c("m", "f"))
  vws$Schema(list(sex = level), reviewed = "somebody")$write("schema.toml")
  suppressWarnings(run())
  utils::write.csv(people()["sex"], "table.csv", row.names = FALSE, quote = FALSE)
  words <- c("synthesize", "table.csv", "--schema", "schema.toml", "--mechanism", "lw")
  pyvws:::run_command(c(words, "--datasets", 2, "--seed", 3, "--draws", 200, "--out", "py"))
  for (name in c("synthetic-01.csv", "synthetic-02.csv", "privacy.json")) {
    expect_identical(
      unname(tools::md5sum(file.path("out/release", name))),
      unname(tools::md5sum(file.path("py/release", name)))
    )
  }
})
