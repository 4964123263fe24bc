// The censored proportional odds synthesizer, in the Stan language of the papers' time: each
// record's weighted log mass is less its shift, clamped to [low, high]. The lowest cut is 0, as the
// design's intercept takes its place.
functions {
  // One record: weight times the log mass of its level, clamped.
  real censored_record_lpmf(int level, real centre, vector cuts, real weight, real shift,
                            real low, real high) {
    return fmin(fmax(weight * (ordered_logistic_lpmf(level | centre, cuts) - shift), low), high);
  }

  // All records, one after the other.
  real censored_ordinal_lpmf(int[] levels, vector centre, vector cuts, vector weights, vector shift,
                             real low, real high) {
    real total = 0;
    for (i in 1:size(levels)) {
      total += censored_record_lpmf(levels[i] | centre[i], cuts, weights[i], shift[i], low, high);
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
  target += censored_ordinal_lpmf(y | mu, cuts, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpmf(y[i] | mu[i], cuts, weights[i], shift[i], low, high);
  }
}
