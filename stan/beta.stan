// Weighted beta regression on a logit link, in mean and precision form: y[i] in (0, 1) is the place
// of the outcome in its public range. Record i enters the target as weights[i] * log Beta(y[i] |
// mu[i] * kappa, (1 - mu[i]) * kappa) with kappa = 1 / inv_kappa, or as that term clamped to
// [-bound, bound] when censored = 1.
functions {
  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector y, vector eta, real kappa) {
    vector[size(y)] a = kappa * inv_logit(eta);
    vector[size(y)] b = kappa * inv_logit(-eta);
    return lgamma(kappa) - lgamma(a) - lgamma(b) + (a - 1) .* log(y) + (b - 1) .* log1m(y);
  }

  // What each record adds to the target.
  vector record_terms(vector log_lik, vector weights, int censored, real bound) {
    vector[size(log_lik)] terms = weights .* log_lik;
    return censored ? fmin(fmax(terms, -bound), bound) : terms;
  }
}
data {
  int<lower=1> n; // records
  int<lower=1> K; // columns of the design
  vector<lower=0, upper=1>[n] y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n] weights; // smaller = more protected
  int<lower=0, upper=1> censored;
  real<lower=0> bound; // in nats; not used unless censored
  int<lower=0, upper=1> write_log_lik;
}
transformed data {
  vector[K] zeros_beta = zeros_vector(K);
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
  target += sum(record_terms(record_log_lik(y, X * beta, inv(inv_kappa)), weights, censored, bound));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(y, X * beta, inv(inv_kappa)), weights, censored, bound);
  }
}
