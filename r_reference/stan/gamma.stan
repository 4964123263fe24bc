// A weighted gamma synthesizer in the form of the papers' programs and the Stan language of their
// time: each record's log density is multiplied by its weight inside a user-defined density. The
// mean has a log link, 1 / shape is half-Cauchy.
functions {
  // One record: weight times its log density at the log mean.
  real weighted_record_lpdf(real outcome, real log_mean, real shape, real weight) {
    return weight * gamma_lpdf(outcome | shape, shape / exp(log_mean));
  }

  // All records, one after the other.
  real weighted_gamma_lpdf(vector outcomes, vector log_mean, real shape, vector weights) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += weighted_record_lpdf(outcomes[i] | log_mean[i], shape, weights[i]);
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
  target += weighted_gamma_lpdf(y | mu, shape, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpdf(y[i] | mu[i], shape, weights[i]);
  }
}
