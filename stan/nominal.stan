// Weighted multinomial logit of an outcome in J levels: P(y[i] = j) is proportional to
// exp(eta[i, j]) with eta[i, 1] = 0 and eta[i, j] = X[i] * beta[j - 1]'. Record i enters the target
// as weights[i] * log P(y[i]), or as that term clamped to [low, high] when censored = 1. The levels'
// coefficients share one scale and one correlation.
functions {
  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(array[] int y, matrix eta) {
    vector[size(y)] log_lik;
    for (i in 1:size(y)) {
      log_lik[i] = categorical_logit_lpmf(y[i] | append_row(0.0, eta[i]'));
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
  int<lower=2> J; // levels
  real<lower=0> coefficient_sd; // of a normal prior; 0 = one scale and correlation for all levels
  array[n] int<lower=1, upper=J> y;
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
  matrix[J - 1, K] beta;
  vector<lower=0>[coefficient_sd > 0 ? 0 : K] sigma_beta;
  cholesky_factor_corr[coefficient_sd > 0 ? 1 : K] L_beta;
}
model {
  if (coefficient_sd > 0) {
    target += normal_lpdf(to_vector(beta) | 0, coefficient_sd);
  } else {
    L_beta ~ lkj_corr_cholesky(6);
    sigma_beta ~ student_t(3, 0, 1);
    for (j in 1:(J - 1)) {
      beta[j]' ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
    }
  }
  target += sum(record_terms(record_log_lik(y, X * beta'), weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(y, X * beta'), weights, censored, shift, low, high);
  }
}
