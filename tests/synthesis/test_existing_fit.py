"""Weights, bounds and re-weights of a fit made elsewhere."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from refusals import refused

from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.synthesis.existing_fit import from_arviz, from_cmdstan_csv, from_log_lik, from_stanfit
from pyvws.weights.weights import lipschitz_weights, reweight

LOG_LIK = np.array([[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0]])
ALPHA = np.array([1.0, 0.5, 0.0])

terms = st.sampled_from([-np.inf, np.inf, np.nan, 1e300, 0.0]) | st.integers(-640, 640).map(
    lambda v: v / 64
)


def test_it_is_the_pure_functions_and_nothing_else():
    rng = np.random.default_rng(1)
    matrix = -rng.gamma(3.0, size=(50, 20))
    fit = from_log_lik(matrix)
    assert fit.bounds(threshold=0.9).database == lipschitz_bounds(matrix, threshold=0.9).database
    np.testing.assert_array_equal(
        fit.lipschitz_weights(c=0.9, g=0.05, threshold=0.9),
        lipschitz_weights(matrix, c=0.9, g=0.05, threshold=0.9),
    )
    alpha = rng.uniform(size=20)
    weighted = from_log_lik(matrix * alpha, alpha)
    np.testing.assert_array_equal(
        weighted.reweight(0.95), reweight(alpha, lipschitz_bounds(matrix * alpha).by_record, k=0.95)
    )


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
        lambda shape: st.tuples(
            npst.arrays(np.float64, shape, elements=terms),
            st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=shape[1], max_size=shape[1]),
        )
    )
)
@settings(max_examples=60, derandomize=True)
def test_any_matrix_against_loops(table):
    """Plain terms are weighted one by one; a record of weight 0 adds nothing, infinite or not."""
    matrix, alpha = table
    draws, records = range(len(matrix)), range(len(alpha))
    weighted = [[alpha[i] * matrix[s, i] if alpha[i] else 0.0 for i in records] for s in draws]
    sizes = [[abs(v) if np.isfinite(v) else np.inf for v in row] for row in weighted]
    fit = from_log_lik(matrix, alpha, log_lik="plain")
    assert fit.bounds().by_record.tolist() == [max(sizes[s][i] for s in draws) for i in records]
    assert fit.bounds().database == max(map(max, sizes))
    same = from_log_lik(np.array(weighted), alpha)
    assert same.bounds().by_record.tolist() == fit.bounds().by_record.tolist()


@pytest.mark.parametrize("column", [pd.Series, pl.Series])
def test_weights_may_be_a_column(column):
    assert from_log_lik(LOG_LIK * ALPHA, column(ALPHA)).weights.tolist() == ALPHA.tolist()


def test_inputs_stay_as_they_are():
    matrix, alpha = LOG_LIK.copy(), ALPHA.copy()
    from_log_lik(matrix, alpha, log_lik="plain").reweight(0.5)
    np.testing.assert_array_equal(matrix, LOG_LIK)
    np.testing.assert_array_equal(alpha, ALPHA)


def test_weights_of_a_weighted_fit_are_not_taken_for_lw():
    with refused("weights-of-weighted-fit"):
        from_log_lik(LOG_LIK * ALPHA, ALPHA).lipschitz_weights()
    assert from_log_lik(LOG_LIK, np.ones(3)).lipschitz_weights().tolist() == [1.0, 0.75, 0.0]


def test_reweight_needs_the_weights():
    with refused("reweight-without-weights"):
        from_log_lik(LOG_LIK).reweight(0.9)


def test_lengths_must_agree():
    with refused("unequal-lengths", first=2, second=3):
        from_log_lik(LOG_LIK, [1.0, 0.5])


TABLE = xarray.DataArray(-np.arange(1.0, 25.0).reshape(2, 4, 3), dims=("chain", "draw", "y"))


@pytest.mark.parametrize(
    "array",
    [
        TABLE,
        TABLE.transpose("y", "draw", "chain"),
        TABLE.transpose("draw", "y", "chain").rename(draw="Iterations", chain="chains"),
        TABLE.stack(sample=("chain", "draw")),
        TABLE.stack(sample=("chain", "draw")).T,
        xarray.DataArray(TABLE.to_numpy().reshape(8, 3)),
    ],
    ids=lambda array: " ".join(array.dims),
)
def test_names_of_dimensions_tell_the_draws(array):
    for form in (array, array.to_dataset(name="z")):
        assert from_log_lik(form).bounds().by_record.tolist() == [22.0, 23.0, 24.0]
        assert lipschitz_bounds(form).by_record.tolist() == [22.0, 23.0, 24.0]
    if array.ndim == 2:
        assert from_log_lik(array.to_pandas(), records=3).log_lik.shape == (8, 3)


def test_rows_stand_chain_after_chain_whichever_dimension_comes_first():
    """As R's extract(fit, permuted = FALSE) gives them; mixed chains would always seem to agree."""
    rows = TABLE.to_numpy().reshape(8, 3)
    for form in (
        TABLE,
        TABLE.transpose("draw", "chain", "y"),
        TABLE.transpose("draw", "y", "chain").to_dataset(name="z"),
    ):
        fit = from_log_lik(form, y_rep=form)
        assert fit.chains == 2
        np.testing.assert_array_equal(fit.log_lik, rows)
        np.testing.assert_array_equal(fit.y_rep, rows)
    assert from_log_lik(TABLE.stack(sample=("chain", "draw"))).chains == 1
    with refused("log-lik-chains", own=2, chains=4):
        from_log_lik(TABLE, chains=4)


def test_columns_that_were_sorted_as_text_are_refused(tmp_path):
    """log_lik[10] before log_lik[2]: each bound would be of another record."""
    names = [f"log_lik[{record}]" for record in range(1, 12)]
    table = pd.DataFrame(-np.arange(22.0).reshape(2, 11), columns=names)
    assert from_log_lik(table).log_lik.shape == (2, 11)
    for form in (table[sorted(names)], pl.from_pandas(table[sorted(names)])):
        with refused("log-lik-columns-out-of-order"):
            from_log_lik(form)
    path = csv(tmp_path / "1.csv", LOG_LIK, names=("log_lik.2", "log_lik.1", "log_lik.3"))
    with refused("log-lik-columns-out-of-order"):
        from_cmdstan_csv(path)


def test_records_check_the_columns():
    with refused("log-lik-several-variables"):
        from_log_lik(xarray.Dataset({"a": TABLE, "b": TABLE}))
    assert from_log_lik(LOG_LIK, records=3).log_lik.shape == (2, 3)
    with refused("log-lik-columns", records=2, values=2):
        from_log_lik(LOG_LIK, records=2)
    with refused("log-lik-columns", records=4, values=2):
        from_log_lik(LOG_LIK, records=4)


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_rows_is_refused(first):
    """R's write.csv adds such a column, and pandas' to_csv one from 0."""
    counted = np.column_stack([LOG_LIK[:, 0], first + np.arange(2.0)])
    for form in (counted, pd.DataFrame(counted), pl.DataFrame(counted)):
        with refused("log-lik-row-names"):
            from_log_lik(form)
    from_log_lik([[1.0, 0.0]])
    from_log_lik([[1.0], [2.0], [2.0], [4.0]])


def csv(path, rows, *, warmup=0, saved=0, thin=1, names=("log_lik.1", "log_lik.2", "log_lik.3")):
    """A chain's file as CmdStan writes it."""
    samples = len(rows) * thin - saved * (warmup + 1)
    head = (
        f"# stan_version_major = 2\n#     num_samples = {samples}\n"
        f"#     num_warmup = {warmup}\n#     save_warmup = {saved}\n"
        f"#     thin = {thin} (Default)\n"
    )
    lines = [",".join(["lp__", "beta.1", *names])]
    for at, row in enumerate(rows):
        if at == 1:
            lines.append("# Adaptation terminated\n# Step size = 0.9")
        lines.append(",".join(map(str, [-1.5, 2, *row])))
    path.write_text(head + "\n".join(lines) + "\n# \n#  Elapsed Time: 0.1 seconds\n")
    return path


def test_cmdstan_files_follow_each_other(tmp_path):
    first = csv(tmp_path / "1.csv", LOG_LIK)
    second = csv(tmp_path / "2.csv", LOG_LIK - 1)
    fit = from_cmdstan_csv([first, str(second)])
    np.testing.assert_array_equal(fit.log_lik, np.vstack([LOG_LIK, LOG_LIK - 1]))
    assert fit.chains == 2
    np.testing.assert_array_equal(from_cmdstan_csv(first).log_lik, LOG_LIK)


def test_saved_warm_up_is_left_out(tmp_path):
    rows = np.vstack([LOG_LIK - 9, LOG_LIK])
    path = csv(tmp_path / "1.csv", rows, warmup=3, saved=1, thin=2)
    np.testing.assert_array_equal(from_cmdstan_csv(path).log_lik, LOG_LIK)


def test_infinite_values_are_read(tmp_path):
    rows = [[-1.0, float("-inf"), float("nan")], [-1, -2, -3]]
    fit = from_cmdstan_csv(csv(tmp_path / "1.csv", rows))
    assert np.isneginf(fit.log_lik[0, 1])
    assert np.isnan(fit.log_lik[0, 2])


def test_whole_numbers_in_a_file_are_no_integers(tmp_path):
    rows = [[-1, -2, -3], [-1.5, -2.5, -3.5]]
    np.testing.assert_array_equal(from_cmdstan_csv(csv(tmp_path / "1.csv", rows)).log_lik, rows)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda _: "", "csv-empty"),
        (lambda text: text.replace("log_lik.", "a."), "csv-without-log-lik"),
        (lambda text: text.replace("-6.0", "minus six"), "csv-incomplete"),
        *(
            (lambda text, k=k: text.partition("# \n")[0][:-k], "csv-incomplete")
            for k in (1, 3, 20, 40)
        ),
    ],
)
def test_a_file_that_is_no_chain_says_so(tmp_path, change, key):
    path = csv(tmp_path / "1.csv", LOG_LIK)
    path.write_text(change(path.read_text()))
    with refused(key):
        from_cmdstan_csv(path)


def test_missing_files_say_so(tmp_path):
    with refused("program-file-missing"):
        from_cmdstan_csv(tmp_path / "none.csv")
    with refused("rds-missing"):
        from_stanfit(tmp_path / "none.rds")
    with refused("csv-files-missing"):
        from_cmdstan_csv([])


def test_files_of_different_width_say_so(tmp_path):
    first = csv(tmp_path / "1.csv", LOG_LIK)
    second = csv(tmp_path / "2.csv", LOG_LIK[:, :2], names=("log_lik.1", "log_lik.2"))
    with refused("csv-files-differ"):
        from_cmdstan_csv([first, second])


def groups(kind, *, weighted=False):
    """A fit of 2 chains, 4 draws and 3 records as one of the libraries holds it."""
    terms = TABLE * xarray.DataArray([1.0, 0.5, 0.0], dims="y") if weighted else TABLE
    found = {
        "log_likelihood": terms.to_dataset(name="z"),
        "posterior_predictive": (-TABLE).transpose("y", "draw", "chain").to_dataset(name="z"),
    }
    if kind == "InferenceData":
        arviz = pytest.importorskip("arviz")
        return arviz.InferenceData(**found)
    if kind == "posterior":
        both = {"log_lik": terms, "y_rep": -TABLE, "beta": TABLE[..., 0]}
        found = {"posterior": xarray.Dataset(both)}
    return xarray.DataTree.from_dict(found)


@pytest.mark.parametrize("kind", ["InferenceData", "DataTree", "posterior"])
def test_groups_of_arviz_are_read_by_the_names_of_their_dimensions(kind):
    fit = from_arviz(groups(kind), y_rep_from="parameters", records=3)
    np.testing.assert_array_equal(fit.log_lik, TABLE.to_numpy().reshape(8, 3))
    np.testing.assert_array_equal(fit.y_rep, -fit.log_lik)
    assert (fit.chains, fit.y_rep_from, fit.weights) == (2, "parameters", None)


def test_a_dataset_and_an_array_are_log_likelihoods():
    for form in (TABLE, TABLE.T, TABLE.to_dataset(name="z"), TABLE.stack(sample=("chain", "draw"))):
        fit = from_arviz(form)
        np.testing.assert_array_equal(fit.log_lik, TABLE.to_numpy().reshape(8, 3))
        assert fit.y_rep is None


def test_weights_of_arviz_are_never_taken_in_silence():
    with refused("log-lik-holds"):
        from_arviz(groups("DataTree"), ALPHA)
    plain = from_arviz(groups("DataTree"), ALPHA, log_lik="plain")
    weighted = from_arviz(groups("DataTree", weighted=True), ALPHA, log_lik="weighted")
    np.testing.assert_array_equal(plain.log_lik, weighted.log_lik)
    assert plain.bounds().by_record.tolist() == [22.0, 11.5, 0.0]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda z: z.isel(draw=slice(0, 3)), "predictive-dimension"),
        (lambda z: z.isel(chain=[1, 0]).assign_coords(chain=[1, 0]), "predictive-dimension"),
        (lambda z: z.isel(y=slice(0, 2)), "predictive-dimension"),
        (lambda z: z.assign_coords(y=[3, 2, 1]), "predictive-dimension"),
    ],
)
def test_predictive_draws_of_another_fit_are_refused(change, key):
    labelled = TABLE.assign_coords(chain=[0, 1], y=[1, 2, 3])
    tree = {
        "log_likelihood": labelled.to_dataset(name="z"),
        "posterior_predictive": change(labelled).to_dataset(name="z"),
    }
    with refused(key):
        from_arviz(xarray.DataTree.from_dict(tree))


def test_several_variables_are_told_apart_by_their_names():
    two = xarray.Dataset({"a": TABLE, "b": 2 * TABLE})
    tree = xarray.DataTree.from_dict({"log_likelihood": two, "posterior_predictive": two})
    with refused("several-variables", names="a, b"):
        from_arviz(tree)
    fit = from_arviz(tree, variable="b")
    np.testing.assert_array_equal(fit.y_rep, 2 * TABLE.to_numpy().reshape(8, 3))
    np.testing.assert_array_equal(
        from_arviz(tree, variable="b", y_rep="a").y_rep, TABLE.to_numpy().reshape(8, 3)
    )
    with refused("predictive-draws-missing", y_rep="c"):
        from_arviz(tree, variable="b", y_rep="c")
    with refused("log-lik-missing"):
        from_arviz(xarray.DataTree.from_dict({"posterior": two}))
    with refused("arviz-kind"):
        from_arviz(LOG_LIK)


def test_predictive_draws_have_the_shape_of_log_lik():
    with refused("y-rep-shape", shape2=3):
        from_log_lik(LOG_LIK, y_rep=LOG_LIK.T)
    with refused("log-lik-unequal-chains", chains=3):
        from_log_lik(LOG_LIK, chains=3)
    assert "4" not in repr(from_log_lik(LOG_LIK, y_rep=LOG_LIK))
