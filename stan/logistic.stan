// Weighted logistic regression of an outcome of 0 or 1. Record i enters the target as weights[i] *
// log Bernoulli(y[i] | logit^-1(X[i] * beta)), or as that term clamped to [low, high] when
// censored = 1.
functions {
  // Log-likelihood of each record in nats, without weights; signs are 1 for y = 1 and -1 for y = 0.
  vector record_log_lik(vector signs, vector eta) {
    return log_inv_logit(signs .* eta);
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
  array[n] int<lower=0, upper=1> y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n] weights; // smaller = more protected
  int<lower=0, upper=1> censored;
  vector[n] shift; // taken off each log-likelihood first; not used unless censored
  real low; // in nats; not used unless censored
  real high;
  int<lower=0, upper=1> write_log_lik;
}
transformed data {
  vector[n] signs = 2 * to_vector(y) - 1;
  vector[K] zeros_beta = zeros_vector(K);
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += sum(record_terms(record_log_lik(signs, X * beta), weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(signs, X * beta), weights, censored, shift, low, high);
  }
}
