"""CmdStan's own files, as CmdStan writes them."""

import numpy as np
from pyvws_validation._stan_case import seeded_target

from pyvws.engines.cmdstan import built
from pyvws.engines.stan_run import clamp_data, shipped_program, stan_data
from pyvws.synthesis.existing_fit import from_cmdstan_csv


def test_its_files_give_the_matrix_that_cmdstanpy_reads(need, tmp_path):
    need("cmdstan")
    import cmdstanpy

    target = seeded_target("poisson", 12, 1, seed=3)
    data = {**stan_data(target), **clamp_data(target), "write_log_lik": 1}
    cmdstanpy.write_stan_json(str(tmp_path / "data.json"), data)
    with cmdstanpy.disable_logging():
        fit = cmdstanpy.CmdStanModel(exe_file=built(shipped_program(target.model))).sample(
            data=str(tmp_path / "data.json"),
            chains=2,
            iter_warmup=100,
            iter_sampling=30,
            thin=2,
            save_warmup=True,
            seed=1,
            output_dir=str(tmp_path / "output"),
            show_progress=False,
        )
        expected = fit.stan_variable("log_lik")
    found = from_cmdstan_csv(fit.runset.csv_files, target.weights)
    assert found.log_lik.shape == (30, 12)
    np.testing.assert_array_equal(found.log_lik, expected)
