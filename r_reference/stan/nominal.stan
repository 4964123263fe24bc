// A weighted multinomial logit synthesizer in the form of the papers' programs and the Stan language
// of their time: each record's log mass is multiplied by its weight inside a user-defined mass
// function. The first level's linear predictor is 0.
functions {
  // One record: weight times the log mass of its level.
  real weighted_record_lpmf(int level, vector centre, real weight) {
    return weight * categorical_logit_lpmf(level | centre);
  }

  // All records, one after the other.
  real weighted_nominal_lpmf(int[] levels, matrix centre, vector weights) {
    real total = 0;
    for (i in 1:size(levels)) {
      total += weighted_record_lpmf(levels[i] | centre[i]', weights[i]);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  int<lower=2> J;
  real<lower=0> coefficient_sd;
  int<lower=1, upper=J> y[n];
  vector<lower=0>[n] weights;
  matrix[n, K] X;
}
transformed data {
  vector[K] zeros_beta = rep_vector(0, K);
}
parameters {
  matrix[J - 1, K] beta;
  vector<lower=0>[coefficient_sd > 0 ? 0 : K] sigma_beta;
  cholesky_factor_corr[coefficient_sd > 0 ? 1 : K] L_beta;
}
transformed parameters {
  matrix[n, J] mu = append_col(rep_vector(0, n), X * beta');
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
  target += weighted_nominal_lpmf(y | mu, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpmf(y[i] | mu[i]', weights[i]);
  }
}
