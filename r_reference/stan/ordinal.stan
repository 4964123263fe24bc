// A weighted proportional odds synthesizer in the form of the papers' programs and the Stan language
// of their time: each record's log mass is multiplied by its weight inside a user-defined mass
// function. The lowest cut is 0, as the design's intercept takes its place.
functions {
  // One record: weight times the log mass of its level.
  real weighted_record_lpmf(int level, real centre, vector cuts, real weight) {
    return weight * ordered_logistic_lpmf(level | centre, cuts);
  }

  // All records, one after the other.
  real weighted_ordinal_lpmf(int[] levels, vector centre, vector cuts, vector weights) {
    real total = 0;
    for (i in 1:size(levels)) {
      total += weighted_record_lpmf(levels[i] | centre[i], cuts, weights[i]);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  int<lower=2> J;
  int<lower=1, upper=J> y[n];
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
  vector<lower=0>[J - 2] gaps;
}
transformed parameters {
  vector[n] mu = X * beta;
  vector[J - 1] cuts = append_row(0.0, cumulative_sum(gaps));
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  gaps ~ student_t(3, 0, 2.5);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += weighted_ordinal_lpmf(y | mu, cuts, weights);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = weighted_record_lpmf(y[i] | mu[i], cuts, weights[i]);
  }
}
