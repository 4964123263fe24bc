// The censored gamma synthesizer, in the Stan language of the papers' time: each record's weighted
// log density is less its shift, clamped to [low, high].
functions {
  // One record: weight times its log density at the log mean, clamped.
  real censored_record_lpdf(real outcome, real log_mean, real shape, real weight, real shift,
                            real low, real high) {
    real term = gamma_lpdf(outcome | shape, shape / exp(log_mean)) - shift;
    return fmin(fmax(weight * term, low), high);
  }

  // All records, one after the other.
  real censored_gamma_lpdf(vector outcomes, vector log_mean, real shape, vector weights,
                           vector shift, real low, real high) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += censored_record_lpdf(outcomes[i] | log_mean[i], shape,
                                    weights[i], shift[i], low, high);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  vector<lower=0>[n] y;
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
  real<lower=0> inv_shape;
}
transformed parameters {
  vector[n] mu = X * beta;
  real shape = 1 / inv_shape;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  inv_shape ~ cauchy(0, 5);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += censored_gamma_lpdf(y | mu, shape, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpdf(y[i] | mu[i], shape, weights[i], shift[i], low, high);
  }
}
