// Weighted beta regression on a logit link, in mean and precision form: y[i] in [0, 1] is the place
// of the outcome in its public range. Record i enters the target as weights[i] * log Beta(y[i] |
// mu[i] * kappa, (1 - mu[i]) * kappa) with kappa = 1 / inv_kappa, or as that term clamped to
// [low, high] when censored = 1; only then may y[i] be 0 or 1, where a term can be infinite.
functions {
  // Which records lie at an end.
  array[] int places(vector y, real end) {
    array[size(y)] int found;
    int count = 0;
    for (i in 1 : size(y)) {
      if (y[i] == end) {
        count += 1;
        found[count] = i;
      }
    }
    return found[1 : count];
  }

  // The logarithms, with 0 for the infinite one of a record at an end.
  vector finite(vector logs, array[] int at_end) {
    vector[size(logs)] made = logs;
    made[at_end] = zeros_vector(size(at_end));
    return made;
  }

  // A density of shape a at its end v = 0: infinite for a below 1, and 0 above.
  real log_at_end(real a) {
    return a > 1 ? negative_infinity() : positive_infinity();
  }

  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector log_y, vector log_rest, array[] int at_0, array[] int at_1,
                        vector eta, real kappa) {
    int n = size(log_y);
    vector[n] a = kappa * inv_logit(eta);
    vector[n] b = kappa * inv_logit(-eta);
    vector[n] made = lgamma(kappa) - lgamma(a) - lgamma(b) + (a - 1) .* log_y
                     + (b - 1) .* log_rest;
    for (i in at_0) {
      if (a[i] != 1) made[i] = log_at_end(a[i]);
    }
    for (i in at_1) {
      if (b[i] != 1) made[i] = log_at_end(b[i]);
    }
    return made;
  }

  // What each record adds to the target: nothing where its weight is 0.
  vector record_terms(vector log_lik, vector weights, int censored, vector shift, real low,
                      real high) {
    if (!censored) {
      return weights .* log_lik;
    }
    vector[size(log_lik)] terms = weights .* (log_lik - shift);
    for (i in 1 : size(terms)) {
      if (weights[i] == 0) terms[i] = 0;
    }
    return fmin(fmax(terms, low), high);
  }
}
data {
  int<lower=1> n; // records
  int<lower=1> K; // columns of the design
  vector<lower=0, upper=1>[n] y;
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
  array[size(places(y, 0))] int at_0 = places(y, 0);
  array[size(places(y, 1))] int at_1 = places(y, 1);
  vector[n] log_y = finite(log(y), at_0);
  vector[n] log_rest = finite(log1m(y), at_1);
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  real<lower=0> inv_kappa;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  inv_kappa ~ cauchy(0, 5);
  target += sum(record_terms(
    record_log_lik(log_y, log_rest, at_0, at_1, X * beta, inv(inv_kappa)),
      weights, censored, shift, low, high
  ));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(
      record_log_lik(log_y, log_rest, at_0, at_1, X * beta, inv(inv_kappa)),
        weights, censored, shift, low, high
    );
  }
}
