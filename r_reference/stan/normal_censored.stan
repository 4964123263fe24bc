// The censored normal synthesizer, in the Stan language of the papers' time: each record's weighted
// log density is less its shift, clamped to [low, high]. The outcome arrives encoded, such as log
// income.
functions {
  // One record: weight times its log density, clamped.
  real censored_record_lpdf(real outcome, real centre, real sigma, real weight, real shift,
                            real low, real high) {
    return fmin(fmax(weight * (normal_lpdf(outcome | centre, sigma) - shift), low), high);
  }

  // All records, one after the other.
  real censored_normal_lpdf(vector outcomes, vector centre, real sigma, vector weights,
                            vector shift, real low, real high) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += censored_record_lpdf(outcomes[i] | centre[i], sigma,
                                    weights[i], shift[i], low, high);
    }
    return total;
  }
}
data {
  int<lower=1> n;
  int<lower=1> K;
  vector[n] y;
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
  real<lower=0> sigma;
}
transformed parameters {
  vector[n] mu = X * beta;
}
model {
  L_beta ~ lkj_corr_cholesky(6);
  sigma_beta ~ student_t(3, 0, 1);
  sigma ~ student_t(3, 0, 1);
  beta ~ multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_beta, L_beta));
  target += censored_normal_lpdf(y | mu, sigma, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpdf(y[i] | mu[i], sigma, weights[i], shift[i], low, high);
  }
}
