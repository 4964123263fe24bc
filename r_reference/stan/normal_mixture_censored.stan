// The censored mixture synthesizer, in the Stan language of the papers' time: each record's
// weighted log density, its label summed out, is less its shift, clamped to [low, high]. The
// outcome arrives encoded, such as log income.
functions {
  // One record: weight times its log density, clamped.
  real censored_record_lpdf(real outcome, row_vector x, vector[] beta, vector sigma, vector log_pi,
                            real weight, real shift, real low, real high) {
    vector[num_elements(sigma)] terms;
    for (k in 1:num_elements(sigma)) {
      terms[k] = log_pi[k] + normal_lpdf(outcome | x * beta[k], sigma[k]);
    }
    return fmin(fmax(weight * (log_sum_exp(terms) - shift), low), high);
  }

  // All records, one after the other.
  real censored_mixture_lpdf(vector outcomes, matrix X, vector[] beta, vector sigma, vector log_pi,
                             vector weights, vector shift, real low, real high) {
    real total = 0;
    for (i in 1:num_elements(outcomes)) {
      total += censored_record_lpdf(outcomes[i] | X[i], beta, sigma, log_pi,
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
  int<lower=1> C;
  real<lower=0> gamma_shape;
  real<lower=0> gamma_rate;
  real<lower=0> smallest_sd;
  vector[n] shift;
  real low;
  real high;
}
parameters {
  vector[K] raw_beta[C];
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  vector<lower=smallest_sd>[C] sigma;
  vector[C] log_size;
  real<lower=0> concentration;
}
transformed parameters {
  vector[K] beta[C];
  vector[C] pi = softmax(log_size);
  for (k in 1:C) {
    beta[k] = diag_pre_multiply(sigma_beta, L_beta) * raw_beta[k];
  }
}
model {
  L_beta ~ lkj_corr_cholesky(1);
  sigma_beta ~ student_t(3, 0, 1);
  for (k in 1:C) {
    raw_beta[k] ~ normal(0, 1);
  }
  sigma ~ student_t(3, 0, 1);
  concentration ~ gamma(gamma_shape, gamma_rate);
  // The log of a Gamma(concentration / C, 1) variable, Jacobian included.
  for (k in 1:C) {
    target += concentration / C * log_size[k] - exp(log_size[k]) - lgamma(concentration / C);
  }
  target += censored_mixture_lpdf(y | X, beta, sigma, log_softmax(log_size),
                                  weights, shift, low, high);
}
generated quantities {
  vector[n] log_lik;
  for (i in 1:n) {
    log_lik[i] = censored_record_lpdf(y[i] | X[i], beta, sigma, log_softmax(log_size),
                                      weights[i], shift[i], low, high);
  }
}
