// Weighted Poisson regression on a log link: the pseudo posterior of Savitsky, Hu and Williams (2024).
// Record i enters the target as weights[i] * log Poisson(y[i] | exp(X[i] * beta)), or as that term
// clamped to [low, high] when censored = 1.
functions {
  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector y, vector eta) {
    return y .* eta - exp(eta) - lgamma(y + 1);
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
  array[n] int<lower=0> y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n] weights; // smaller = more protected
  int<lower=0, upper=1> censored;
  vector[n] shift; // taken off each log-likelihood first; not used unless censored
  real low; // in nats; not used unless censored
  real high;
  int<lower=0, upper=1> write_log_lik;
}
transformed data {
  vector[n] counts = to_vector(y);
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
  target += sum(record_terms(record_log_lik(counts, X * beta),
    weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(counts, X * beta), weights, censored, shift, low, high);
  }
}
