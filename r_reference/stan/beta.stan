// A weighted beta synthesizer in the form of the papers' programs and the Stan language of their
// time: each record's log density is multiplied by its weight inside a user-defined density. The
// outcome arrives as its place in the public range; 1 / kappa is half-Cauchy.
functions {
  // One record: weight times its log density at the logit of the mean.
  real weighted_record_lpdf(real outcome, real logit_mean, real kappa, real weight) {
    return weight
           * beta_lpdf(outcome | inv_logit(logit_mean) * kappa, inv_logit(-logit_mean) * kappa);
  }

  // All records, one after the other.
  real weighted_beta_lpdf(vector outcomes, vector logit_mean, real kappa, vector weights) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += weighted_record_lpdf(outcomes[i] | logit_mean[i], kappa, weights[i]);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  vector<lower=0, upper=1>[n] y;
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
  real<lower=0> inv_kappa;
}
transformed parameters {
  vector[n] mu = X * beta;
  real kappa = 1 / inv_kappa;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  inv_kappa ~ cauchy(0, 5);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += weighted_beta_lpdf(y | mu, kappa, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpdf(y[i] | mu[i], kappa, weights[i]);
  }
}
