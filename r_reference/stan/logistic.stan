// A weighted logistic synthesizer in the form of the papers' programs and the Stan language of
// their time: each record's log mass is multiplied by its weight inside a user-defined mass
// function.
functions {
  // One record: weight times its log mass at the logit of its probability.
  real weighted_record_lpmf(int outcome, real log_odds, real weight) {
    return weight * bernoulli_logit_lpmf(outcome | log_odds);
  }

  // All records, one after the other.
  real weighted_logistic_lpmf(int[] outcomes, vector log_odds, vector weights) {
    real total = 0;
    for (i in 1:size(outcomes)) {
      total += weighted_record_lpmf(outcomes[i] | log_odds[i], weights[i]);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  int<lower=0, upper=1> y[n];
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
}
transformed parameters {
  vector[n] mu = X * beta;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += weighted_logistic_lpmf(y | mu, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpmf(y[i] | mu[i], weights[i]);
  }
}
