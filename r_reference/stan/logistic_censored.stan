// The censored logistic synthesizer, in the Stan language of the papers' time: each record's
// weighted log mass is less its shift, clamped to [low, high].
functions {
  // One record: weight times its log mass at the logit of its probability, clamped.
  real censored_record_lpmf(int outcome, real log_odds, real weight, real shift,
                            real low, real high) {
    return fmin(fmax(weight * (bernoulli_logit_lpmf(outcome | log_odds) - shift), low), high);
  }

  // All records, one after the other.
  real censored_logistic_lpmf(int[] outcomes, vector log_odds, vector weights, vector shift,
                              real low, real high) {
    real total = 0;
    for (i in 1:size(outcomes)) {
      total += censored_record_lpmf(outcomes[i] | log_odds[i], weights[i], shift[i], low, high);
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
}
transformed parameters {
  vector[n] mu = X * beta;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += censored_logistic_lpmf(y | mu, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpmf(y[i] | mu[i], weights[i], shift[i], low, high);
  }
}
