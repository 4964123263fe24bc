"""One program for the tests of programs that a user brings: what it does wrong is in its data."""

__all__ = ["switched_program"]

# The switch says how weights are used: 0 as they must be, 1 not in the target, 2 not in log_lik, 3
# by half in log_lik, 4 with a term of y alone left out of it, which no parameter moves, 7 nowhere.
# With 5 the program prints a record, and with 6 it stops under other weights than 1, and says one.
# With 8 it starts outside its support wherever it starts, and prints a record while it is at it.
_PROGRAM = """
data {
  int<lower=1> n;
  int<lower=1> K;
  COUNTS
  matrix[n, K] X;
  vector<lower=0>[n] weights;
  int censored;
}
parameters { vector[K] beta; }
model {
  beta ~ normal(0, 3);
  for (i in 1:n)
    target += (censored == 1 || censored == 7 ? 1 : weights[i])
      * poisson_log_lpmf(y[i] | X[i] * beta);
  if (censored == 8) {
    print("record ", y[1]);
    target += log(-1 - dot_self(beta));
  }
}
generated quantities {
  vector[n] log_lik;
  if (censored == 5) print("record ", y[1]);
  if (censored == 6 && max(weights) < 1) reject("record ", y[1]);
  for (i in 1:n) {
    real term = poisson_log_lpmf(y[i] | X[i] * beta) + (censored == 4 ? lgamma(y[i] + 1) : 0);
    log_lik[i] = (censored == 2 || censored == 7 ? 1 : weights[i])
      * (censored == 3 ? 0.5 : 1) * term;
  }
}
"""


def switched_program(engine: str) -> str:
    """The program in the dialect of an engine. Compiling takes a minute, so all tests share it."""
    counts = "int<lower=0> y[n];" if engine == "rstan" else "array[n] int<lower=0> y;"
    return _PROGRAM.replace("COUNTS", counts)
