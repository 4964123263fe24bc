// Weighted normal regression of an outcome on the scale that the caller chose: y[i] is the encoded
// outcome, such as log income. Record i enters the target as weights[i] * log N(y[i] | X[i] * beta,
// sigma), or as that term clamped to [low, high] when censored = 1.
functions {
  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector y, vector eta, real sigma) {
    return -0.5 * square((y - eta) / sigma) - log(sigma) - 0.5 * log(2 * pi());
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
  target += sum(record_terms(record_log_lik(y, X * beta, sigma),
    weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(y, X * beta, sigma), weights, censored, shift, low, high);
  }
}
