// A weighted normal synthesizer of outcomes between each record's ends, in the form of the papers'
// programs and the Stan language of their time: each record's log density is multiplied by its weight
// inside a user-defined density. The outcome and the ends arrive encoded, such as log income.
functions {
  // x + beyond(x) is phi(x) / P(Z > x), for x of 5 or more: the tail's continued fraction.
  real beyond(real x) {
    real rest = 0;
    for (k in 1:40) {
      rest = (41 - k) / (x + rest);
    }
    return rest;
  }

  // One record's log density: the normal's less the log of its mass between least and most.
  real truncated_record(real y, real eta, real sigma, real least, real most) {
    real a = (least - eta) / sigma;
    real b = (most - eta) / sigma;
    real gap = (y - least) / sigma;
    real wide = (most - least) / sigma;
    real middle;
    real fall;
    real ratio;
    if (a + b < 0) {  // The nearer end comes first, so that no tail is taken from 1.
      a = (eta - most) / sigma;
      b = (eta - least) / sigma;
      gap = (most - y) / sigma;
    }
    if (wide * (1 + b) < 1e-3) {  // Nearly uniform: the next terms are below a rounding.
      middle = a + 0.5 * wide;
      return -log(sigma) - 0.5 * (gap - 0.5 * wide) * (2 * a + gap + 0.5 * wide) - log(wide)
        - log1p(square(wide) * (square(middle) - 1) / 24);
    }
    if (a <= 0) {
      return -log(sigma) - 0.5 * square((y - eta) / sigma) - 0.5 * log(2 * pi())
        - log(0.5 * (erf(b / sqrt(2.0)) - erf(a / sqrt(2.0))));
    }
    if (a < 5) {
      return -log(sigma) - 0.5 * square((y - eta) / sigma) - 0.5 * log(2 * pi())
        - log(0.5 * (erfc(a / sqrt(2.0)) - erfc(b / sqrt(2.0))));
    }
    fall = -0.5 * wide * (b + a);
    ratio = (a + beyond(a)) / (b + beyond(b));
    return -log(sigma) - 0.5 * gap * (gap + 2 * a)
      - log(-expm1(fall + log(ratio)) / (a + beyond(a)));
  }

  // One record: weight times its log density.
  real weighted_record_lpdf(real outcome, real centre, real sigma, real least, real most,
                            real weight) {
    return weight * truncated_record(outcome, centre, sigma, least, most);
  }

  // All records, one after the other.
  real weighted_truncated_lpdf(vector outcomes, vector centre, real sigma, vector least,
                               vector most, vector weights) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += weighted_record_lpdf(outcomes[i] | centre[i], sigma, least[i], most[i], weights[i]);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  vector[n] least;
  vector[n] most;
  vector[n] y;
  vector<lower=0>[n] weights;
  matrix[n, K] X;
}
transformed data {
  vector[K] zeros_beta = rep_vector(0, K);
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  real<lower=0> sigma;
}
transformed parameters {
  vector[n] mu = X * beta;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  sigma ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += weighted_truncated_lpdf(y | mu, sigma, least, most, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpdf(y[i] | mu[i], sigma, least[i], most[i], weights[i]);
  }
}
