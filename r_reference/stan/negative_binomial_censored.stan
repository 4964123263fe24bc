// The censored negative binomial synthesizer of the slides, in the Stan language of the papers'
// time: each record's weighted log mass is less its shift, clamped to [low, high].
functions {
  // One record: weight times its log mass at the log mean, clamped.
  real censored_record_lpmf(int count, real log_mean, real phi, real weight, real shift,
                            real low, real high) {
    return fmin(fmax(weight * (neg_binomial_2_log_lpmf(count | log_mean, phi) - shift), low), high);
  }

  // All records, one after the other.
  real censored_negative_binomial_lpmf(int[] counts, vector log_mean, real phi, vector weights,
                                       vector shift, real low, real high) {
    real total = 0;
    for (i in 1:size(counts)) {
      total += censored_record_lpmf(counts[i] | log_mean[i], phi, weights[i], shift[i], low, high);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  int<lower=0> y[n];
  vector<lower=0>[n] weights;
  matrix[n, K] X;
  vector[n] shift;
  real low;
  real high;
}
transformed data {
  vector[K] zeros_beta = rep_vector(0, K);
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  real<lower=0> inv_phi;
}
transformed parameters {
  vector[n] mu = X * beta;
  real phi = 1 / inv_phi;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  inv_phi ~ cauchy(0, 5);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += censored_negative_binomial_lpmf(y | mu, phi, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpmf(y[i] | mu[i], phi, weights[i], shift[i], low, high);
  }
}
