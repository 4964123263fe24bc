// Weighted normal regression of an outcome between a record's ends, on the scale that the caller
// chose: y[i], least and most are encoded. Record i enters the target as weights[i] times the log of
// N(y[i] | X[i] * beta, sigma) over its mass between least and most, or as that term clamped to [low,
// high] when censored = 1.
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

  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector y, vector eta, real sigma, vector least, vector most) {
    vector[rows(y)] log_lik;
    for (i in 1:rows(y)) {
      log_lik[i] = truncated_record(y[i], eta[i], sigma, least[i], most[i]);
    }
    return log_lik;
  }

  // What each record adds to the target.
  vector record_terms(vector log_lik, vector weights, int censored, vector shift, real low,
                      real high) {
    if (!censored) {
      return weights .* log_lik;
    }
    return fmin(fmax(weights .* (log_lik - shift), low), high);
  }
}
data {
  int<lower=1> n; // records
  int<lower=1> K; // columns of the design
  vector[n] least; // the least and the largest outcome that each record can have
  vector[n] most;
  vector[n] y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n] weights; // smaller = more protected
  int<lower=0, upper=1> censored;
  vector[n] shift; // taken off each log-likelihood first; not used unless censored
  real low; // in nats; not used unless censored
  real high;
  int<lower=0, upper=1> write_log_lik;
}
transformed data {
  vector[K] zeros_beta = zeros_vector(K);
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  real<lower=0> sigma;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  sigma ~ student_t(3, 0, 1);
  target += sum(record_terms(record_log_lik(y, X * beta, sigma, least, most),
    weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(y, X * beta, sigma, least, most), weights, censored, shift,
      low, high);
  }
}
