// The censored beta synthesizer of the slides, in the Stan language of the papers' time: each
// record's weighted log density is less its shift, clamped to [low, high].
functions {
  // The log density where the outcome lies at an end of its range: infinite, of either sign, unless
  // the shape that belongs to the end is 1.
  real log_density_at_end(real shape, real other_shape) {
    if (shape > 1) return negative_infinity();
    if (shape < 1) return positive_infinity();
    return log(other_shape);
  }

  // One record: weight times its log density at the logit of the mean, clamped.
  real censored_record_lpdf(real outcome, real logit_mean, real kappa, real weight, real shift,
                            real low, real high) {
    real a = inv_logit(logit_mean) * kappa;
    real b = inv_logit(-logit_mean) * kappa;
    real term;
    if (weight == 0) return 0;
    if (outcome == 0) term = weight * (log_density_at_end(a, b) - shift);
    else if (outcome == 1) term = weight * (log_density_at_end(b, a) - shift);
    else term = weight * (beta_lpdf(outcome | a, b) - shift);
    return fmin(fmax(term, low), high);
  }

  // All records, one after the other.
  real censored_beta_lpdf(vector outcomes, vector logit_mean, real kappa, vector weights,
                          vector shift, real low, real high) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += censored_record_lpdf(outcomes[i] | logit_mean[i], kappa, weights[i], shift[i], low, high);
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
  target += censored_beta_lpdf(y | mu, kappa, weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpdf(y[i] | mu[i], kappa, weights[i], shift[i], low, high);
  }
}
