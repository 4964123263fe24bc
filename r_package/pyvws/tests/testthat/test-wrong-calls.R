log_lik <- matrix(-c(1, 2, 3, 4, 5, 7), 2)
people <- data.frame(sex = factor(rep(c("f", "m"), 100), c("m", "f")), age = rep(20:59, 5))
twice <- data.frame(sex = people$sex, sex = people$sex, check.names = FALSE)
counted <- function(...) synthesize(people, public(), "noisy-counts", ...)
public <- function() {
  vws$Schema(list(
    sex = vws$Column(model = "nominal", levels = c("m", "f")),
    age = vws$Column(model = "normal", range = c(0, 100), cuts = 50)
  ))
}

wrong <- expression(
  synthesize(people, public()),
  synthesize(people, public(), "nothing"),
  synthesize(people, public(), 5),
  counted(),
  counted(epsilon = -1),
  counted(epsilon = "one"),
  counted(epsilon = c(1, 2)),
  counted(epsilon = NA),
  counted(epsilon = 1, delta = 2),
  counted(epsilon = 1, datasets = 1.5),
  counted(epsilon = 1, seed = "x"),
  counted(epsilon = 1, seed = 2^53 + 2),
  counted(epsilon = 1, types = "table"),
  counted(epsilon = 1, epsilno = 1),
  synthesize(people["sex"], public(), "noisy-counts", epsilon = 1),
  synthesize(twice, public(), "noisy-counts", epsilon = 1),
  synthesize(people, "no-such-file.toml", "noisy-counts", epsilon = 1),
  synthesize(people, 7, "noisy-counts", epsilon = 1),
  synthesize(people, list(sex = 1), "noisy-counts", epsilon = 1),
  synthesize(1:10, public(), "noisy-counts", epsilon = 1),
  synthesize("no.csv", public(), "noisy-counts", epsilon = 1),
  synthesize(NULL, public(), "noisy-counts", epsilon = 1),
  synthesize(people, outcome = "wage", model = "normal", mechanism = "lw"),
  synthesize(people, outcome = "sex", model = "normal", mechanism = "lw"),
  synthesize(people, outcome = "age", model = "poisson", formula = ~ nobody, mechanism = "lw"),
  synthesize(people, outcome = "age", model = "poisson", formula = "~ ~", mechanism = "lw"),
  synthesize(people, public(), "lw", engine = "magic"),
  synthesize(people, public(), noisy_counts(1), epsilon = 2),
  syn(people, m = -1, schema = public(), mechanism = "noisy-counts", epsilon = 1),
  schema("no-such-file.toml"),
  schema(3),
  vws$Schema(5),
  vws$Schema$read(c("a", "b")),
  vws$Schema$parse("[columns"),
  vws$Schema(list(sex = "f")),
  vws$Column(model = "nominal"),
  vws$Column(levles = 1),
  vws$Column("nominal", "x"),
  vws$Column(model = "normal", range = "wide"),
  noisy_counts("one"),
  noisy_counts(1, sweps = 1),
  lipschitz_weights("text"),
  lipschitz_weights(log_lik, map = "nothing"),
  lipschitz_weights(NULL),
  lipschitz_weights(log_lik, 1, 0, 3),
  lipschitz_bounds(log_lik + 1i),
  lipschitz_bounds(array(-1, c(2, 2, 2, 2))),
  utility(people, data.frame(x = 1)),
  utility(people, "no-such-folder"),
  utility(people, 5),
  utility(people, people, schema = "no.toml"),
  risk(people, people, keys = "no"),
  risk(people, people, keys = character(0)),
  risk(people, people, keys = "sex", holdout = 3),
  tabulate("no-such-folder", by = "sex", count = TRUE),
  tabulate(list(people), by = "no", count = TRUE),
  tabulate(list(people, people)),
  combine("a", "b"),
  combine(c(1, 2), c(-1, 1)),
  combine(c(1, 2), c(1, 1))$nothing,
  combine(c(1, 2), c(1, 1))$interval("a", "b", "c"),
  from_stanfit("no-such.rds"),
  from_stanfit(5),
  from_stanfit(structure(list(), class = "stanfit")),
  audit(people, public(), "noisy-counts", records = 0, epsilon = 1),
  forecast(public(), "many", mechanism = "noisy-counts", epsilon = 1),
  report("no-such-folder"),
  report(tempdir(), keys = "sex"),
  vws$no_such_function(1),
  vws_help("no_such"),
  vws_help(5),
  vws$from_log_lik(log_lik, y_rep = matrix(0, 3, 3)),
  vws$identification_risk(c(1, NA, 3), radius = 0.2),
  vws$bootstrap_interval(list(1:5), function(x) stop("my own"), n = 5, replicates = 3, seed = 1),
  vws$RRandom(1)$rnorm(),
  vws$combine_formula(list(people, people), age ~ nothing),
  public()$write("/no/such/folder/x.toml")
)
of_python <- paste0(
  "Traceback|pyvws[.]|[A-Za-z]Error\\b|NoneType|\\b(None|True|False|dict|tuple|self|str|int|float|bool|dtype)\\b|",
  "keyword|positional|reticulate|py_|[Pp]ython|numpy|pandas|polars|attribute|__|DataFrame|ndarray|<class|--[a-z]"
)

test_that("wrong calls give one line without a word of Python, and R lives on", {
  skip_if_not(vws_available())
  expect_gte(length(wrong), 60)
  for (call in as.list(wrong)) {
    said <- tryCatch(
      {
        suppressWarnings(eval(call))
        "The call went through."
      },
      error = conditionMessage
    )
    expect_no_match(said, paste0("went through|\n|", of_python), info = deparse(call))
    expect_gt(nchar(said), 5)
  }
})
