# A stanfit of the papers' program, kept in `saved`; its own log_lik, chain after chain, is returned.
fit <- function(program, saved, data, draws) {
  data$y <- as.array(data$y)
  made <- rstan::sampling(
    readRDS(program), data = data, chains = 2, warmup = 100, iter = 100 + draws, seed = 1,
    refresh = 0, cores = 1
  )
  saveRDS(made, saved)
  own <- rstan::extract(made, pars = "log_lik", permuted = FALSE)
  unname(rbind(own[, 1, ], own[, 2, ]))
}
