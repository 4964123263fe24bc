// Weighted truncated Dirichlet process mixture of normal regressions: the synthesizer of Hu, Savitsky
// and Williams (2024), supplement section 1, labels summed out. y[i] is the encoded outcome, such as
// log income. Record i enters the target as weights[i] * log sum_k pi[k] N(y[i] | X[i] * beta[k],
// sigma[k]), or as that term clamped to [low, high] when censored = 1.
functions {
  // Log-likelihood of each record in nats, without weights.
  vector record_log_lik(vector y, matrix X, array[] vector beta, vector sigma, vector log_pi) {
    int C = size(beta);
    int n = rows(y);
    matrix[n, C] terms;
    vector[n] log_lik;
    for (k in 1:C) {
      terms[, k] = log_pi[k] - log(sigma[k]) - 0.5 * log(2 * pi())
                   - 0.5 * square((y - X * beta[k]) / sigma[k]);
    }
    for (i in 1:n) {
      log_lik[i] = log_sum_exp(terms[i]);
    }
    return log_lik;
  }

  // What each record adds to the target.
  vector record_terms(vector log_lik, vector weights, int censored, vector shift, real low,
                      real high) {
    if (!censored) {
      return weights .* log_lik;
    }
    return fmin(fmax(weights .* (log_lik - shift), low), high);
  }
}
data {
  int<lower=1> n; // records
  int<lower=1> K; // columns of the design
  vector[n] y;
  matrix[n, K] X;
  vector<lower=0, upper=1>[n] weights; // smaller = more protected
  int<lower=1> C; // components, more than the data need
  real<lower=0> gamma_shape;
  real<lower=0> gamma_rate;
  real<lower=0> smallest_sd; // of a component; 0 is the paper's prior
  int<lower=0, upper=1> censored;
  vector[n] shift; // taken off each log-likelihood first; not used unless censored
  real low; // in nats; not used unless censored
  real high;
  int<lower=0, upper=1> write_log_lik;
}
parameters {
  array[C] vector[K] raw_beta;
  vector<lower=0>[K] sigma_beta;
  cholesky_factor_corr[K] L_beta;
  vector<lower=smallest_sd>[C] sigma;
  vector[C] log_size; // logs of Gamma(concentration / C, 1) variables; pi is their shares
  real<lower=0> concentration; // the paper's gamma
}
transformed parameters {
  array[C] vector[K] beta;
  vector[C] pi = softmax(log_size);
  for (k in 1:C) {
    beta[k] = diag_pre_multiply(sigma_beta, L_beta) * raw_beta[k];
  }
}
model {
  L_beta ~ lkj_corr_cholesky(1);
  sigma_beta ~ student_t(3, 0, 1);
  for (k in 1:C) {
    raw_beta[k] ~ std_normal();
  }
  sigma ~ student_t(3, 0, 1);
  concentration ~ gamma(gamma_shape, gamma_rate);
  target += concentration / C * sum(log_size) - sum(exp(log_size)) - C * lgamma(concentration / C);
  target += sum(record_terms(record_log_lik(y, X, beta, sigma, log_softmax(log_size)),
    weights, censored, shift, low, high));
}
generated quantities {
  // As in the papers' programs, the weights are already in it.
  vector[write_log_lik ? n : 0] log_lik;
  if (write_log_lik) {
    log_lik = record_terms(record_log_lik(y, X, beta, sigma, log_softmax(log_size)),
      weights, censored, shift, low, high);
  }
}
