"""Every public pure function has a property test, by hypothesis, against a plain reference.

A function is public where its module and its name have no leading underscore. A module that
computes nothing, or not from its arguments alone, is listed with the reason.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from house import MODULES

import pyvws

TESTS = Path(__file__).parents[1]

# Folders and modules whose functions are not pure, or no functions of numbers.
NOT_PURE = {
    "posterior.clamp": "asks a model; clamped densities are held against plain sums and Stan",
    "posterior.joint_target": "a class",
    "posterior.diagnostics": "of chains; held against its definition by tests of its own",
    "posterior.log_likelihood": "asks a model, block by block; models have tests of their own",
    "commands": "the command line",
    "comparison": "orchestrates runs; the advice is held against rows by hand",
    "engines": "sample",
    "errors": "classes",
    "mechanisms": "settings and runs, but for the modules in PURE",
    "models": "classes; each density is held against scipy, gradients and Stan",
    "plan": "reads settings, schemas and tables; refusals have tests of their own",
    "plots": "figures",
    "privacy": "secret noise and its seller, but for the modules in PURE",
    "posterior.prediction": "draws at random",
    "posterior.pseudo_posterior": "a class",
    "posterior.trimmed_start": "asks a model; starts are held against modes and sums over grids",
    "r": "calls R",
    "r_numbers.r_random": "streams of R's random numbers, held against R",
    "release": "orchestrates a run",
    "report": "writes pages and files",
    "statement.words": "sentences",
    "synthesis": "orchestrates a run, but for the modules in PURE",
    "tables": "reads and writes tables, but for the modules in PURE",
}
PURE = {
    "mechanisms.histogram.bins",
    "privacy.budget",
    "privacy.discrete_noise",
    "mechanisms.histogram.perturbed_histogram",
    "synthesis.existing_fit",
    "tables.design.cells",
}

# Single functions of pure modules, with the reason.
NOT_PURE_FUNCTIONS = {
    "privacy.discrete_noise.add_discrete_gaussian": "secret noise, the same never twice",
    "privacy.discrete_noise.add_discrete_laplace": "secret noise, the same never twice",
    "privacy.discrete_noise.laplace": "secret noise, the same never twice",
    "privacy.budget.deviation_of": "a constant",
    "statement.parts.spent": "names figures",
    "statement.releases.has_costs": "reads the entries of a statement",
    "statement.releases.refuse_other_units": "compares words of statements",
    "statement.releases.earlier_of": "reads one entry of a statement",
    "statement.releases.releases_unnamed": "reads one entry of a statement",
    "evaluation.combining_rules.rule_named": "words",
    "evaluation.one_column.one_column": "puts scores with tests of their own into a sheet",
    "evaluation.public_cells.estimates_by_cell": "of `tabulate`, whose figures have a test",
    "evaluation.published_table.of_capped": "words",
    "evaluation.regression_utility.cells_beside": "compares figures with tests of their own",
    "evaluation.regression_utility.left_out": "words",
    "evaluation.regression_utility.together": "puts sheets together",
    "sheet.text.plain_console": "a console",
    "sheet.text.print_json": "prints",
    "sheet.text.print_sheets": "prints",
    "evaluation.combining_rules.rule_of": "reads the entries of a statement",
    "evaluation.laplace_table.laplace_figures": "secret noise, the same never twice",
    "evaluation.laplace_table.most_records": "reads one entry of a schema",
    "evaluation.laplace_table.weighing": "reads the entries of a schema",
    "evaluation.laplace_table.public_ranges": "reads the entries of a schema",
    "posterior.cell_family.by_no_family": "reads the entries of a schema",
    "posterior.cell_family.cell_family": "reads the entries of a schema",
    "evaluation.original_and_datasets.described": "reads the columns of a schema",
    "evaluation.original_and_datasets.plain_tables": "reads columns of tables by a schema",
    "evaluation.public_cells.read_records": "reads columns of a table by its schema",
    "evaluation.second_sample.units_drawn": "reads a column of ids",
    "evaluation.public_cells.table_plan": "reads the words of a command",
    "synthesis.existing_fit.from_arviz": "reads groups of arviz",
    "synthesis.existing_fit.from_cmdstan_csv": "reads files",
    "synthesis.existing_fit.from_stanfit": "reads a file",
}

_RELEASES = (
    "statement/test_releases.py::"
    "test_each_kind_adds_up_for_one_kind_of_neighbours_and_no_other_enters"
)
_HISTORIES = (
    "statement/test_releases.py::test_a_ledger_has_each_release_that_its_files_know_of_once"
)
PROPERTY_TESTS = {
    "statement.accounting.growth_per_doubling": (
        "statement/test_accounting.py::test_growth_is_the_largest_less_its_mean_over_halves"
    ),
    "statement.parts.by_neighbours": (
        "statement/test_accounting.py::test_figures_are_written_alike"
    ),
    "statement.parts.certified": "statement/test_accounting.py::test_figures_are_written_alike",
    "statement.parts.figure": "statement/test_accounting.py::test_figures_are_written_alike",
    "bounds.joint.window_widths": (
        "bounds/test_joint.py::test_a_window_holds_every_term_and_no_smaller_one_is_known"
    ),
    "statement.releases.common_neighbours": _RELEASES,
    "statement.releases.digest": _HISTORIES,
    "statement.releases.releases_known": _HISTORIES,
    "statement.releases.costs_together": _RELEASES,
    "statement.releases.release_cost": _RELEASES,
    "statement.several_draws.deltas_at": (
        "statement/test_several_draws.py::test_deltas_against_enumeration"
    ),
    "statement.several_draws.epsilon_per_draw": (
        "statement/test_several_draws.py::test_a_draws_epsilon_spends_the_total_and_no_more"
    ),
    "statement.several_draws.largest_delta": (
        "statement/test_several_draws.py::test_no_place_of_a_grid_has_a_larger_delta"
    ),
    "statement.several_draws.total_epsilon": (
        "statement/test_several_draws.py::test_no_two_point_mechanism_loses_more"
    ),
    "statement.parts.draw_of_dataset": ("statement/test_released_draws.py::test_draws_take_turns"),
    "statement.parts.with_released_draws": (
        "statement/test_released_draws.py::test_earlier_statements_get_their_draws"
    ),
    "statement.parts.rounded_up": (
        "statement/test_accounting.py::test_rounds_up_to_a_tenth_and_never_down"
    ),
    "risks.balls.amounts": "risks/test_balls.py::test_outcomes_come_as_floats_or_are_refused",
    "risks.balls.count_inside": "risks/test_balls.py::test_against_loops",
    "risks.balls.make_balls": "risks/test_balls.py::test_against_loops",
    "risks.balls.near": "risks/test_balls.py::test_against_loops",
    "risks.balls.outcomes": "risks/test_balls.py::test_outcomes_come_as_floats_or_are_refused",
    "weights.search.meet": (
        "weights/test_bound_search.py::test_the_first_fit_inside_a_window_ends_the_search"
    ),
    "posterior.systematic_draws.systematic_uniforms": (
        "posterior/test_systematic_draws.py::"
        "test_records_take_the_sequence_in_the_order_of_their_rows"
    ),
    "posterior.systematic_draws.van_der_corput": (
        "posterior/test_systematic_draws.py::test_van_der_corput_turns_binary_digits_round"
    ),
    "posterior.censoring.censored_share": "posterior/test_censoring.py::test_against_loops",
    "posterior.censoring.clamp_log_likelihood": "posterior/test_censoring.py::test_against_loops",
    "evaluation.associations.associations": (
        "evaluation/test_associations.py::"
        "test_order_labels_copies_and_rising_functions_change_nothing"
    ),
    "evaluation.associations.correlation_ratio": (
        "evaluation/test_associations.py::test_ratio_against_loops_over_the_records"
    ),
    "evaluation.associations.cramers_v": (
        "evaluation/test_associations.py::test_v_against_loops_over_the_cells"
    ),
    "evaluation.associations.rank_correlation": (
        "evaluation/test_associations.py::test_ranks_against_a_double_loop"
    ),
    "evaluation.bootstrap.bootstrap_interval": (
        "evaluation/test_bootstrap.py::test_any_datasets_against_loops"
    ),
    "evaluation.column_checks.check_column": (
        "evaluation/test_column_checks.py::test_statistics_against_loops"
    ),
    "evaluation.closest_records.closest_distances": (
        "evaluation/test_closest_records.py::test_distances_against_loops"
    ),
    "evaluation.closest_records.share_nearer": (
        "evaluation/test_closest_records.py::test_distances_against_loops"
    ),
    "evaluation.disclosure.attribute_disclosure": (
        "evaluation/test_disclosure.py::test_shares_against_loops_over_the_records"
    ),
    "evaluation.disclosure.replicated_uniques": (
        "evaluation/test_disclosure.py::test_shares_against_loops_over_the_records"
    ),
    "evaluation.combining_rules.combine": (
        "evaluation/test_combining_rules.py::test_against_exact_fractions"
    ),
    "evaluation.combining_rules.combine_formula": (
        "evaluation/test_combining_rules.py::test_lines_against_exact_fractions"
    ),
    "evaluation.counted_cells.counted_cells": (
        "evaluation/test_counted_cells.py::"
        "test_an_interval_holds_the_count_with_the_level_and_no_wider_one_is_given"
    ),
    "evaluation.counted_cells.is_measured": (
        "evaluation/test_counted_cells.py::test_columns_of_sets_by_a_loop"
    ),
    "evaluation.counted_cells.measured_columns": (
        "evaluation/test_counted_cells.py::test_columns_of_sets_by_a_loop"
    ),
    "evaluation.counted_cells.noise_probabilities": (
        "evaluation/test_counted_cells.py::test_the_probabilities_of_the_noise_by_a_loop"
    ),
    "evaluation.ecdf.ecdf_utility": "evaluation/test_ecdf.py::test_against_a_double_loop",
    "evaluation.glm.glm": "evaluation/test_glm.py::test_groups_against_their_shares_and_means",
    "evaluation.glm.independent_columns": ("evaluation/test_glm.py::test_columns_against_ranks"),
    "evaluation.interval_overlap.interval_overlap": (
        "evaluation/test_interval_overlap.py::test_against_exact_fractions"
    ),
    "evaluation.k_marginal.chained_k_marginal": (
        "evaluation/test_k_marginal.py::test_a_chain_draws_from_what_an_earlier_column_tells"
    ),
    "evaluation.k_marginal.coded_k_marginal": (
        "evaluation/test_k_marginal.py::test_labels_of_any_kind_against_codes"
    ),
    "evaluation.k_marginal.k_marginal": (
        "evaluation/test_k_marginal.py::test_labels_of_any_kind_against_codes"
    ),
    "evaluation.k_marginal.pair_distances": (
        "evaluation/test_k_marginal.py::test_double_loops_give_the_same"
    ),
    "evaluation.k_marginal.share_of_the_way": (
        "evaluation/test_k_marginal.py::test_a_standing_needs_a_fifth_of_the_way_and_more_than_chance"
    ),
    "evaluation.k_marginal.standing": (
        "evaluation/test_k_marginal.py::test_a_standing_needs_a_fifth_of_the_way_and_more_than_chance"
    ),
    "evaluation.k_marginal.worse_than_independent": (
        "evaluation/test_k_marginal.py::"
        "test_what_is_worse_lacks_more_than_independent_columns_and_a_bootstrap"
    ),
    "evaluation.least_squares.fit_formula": (
        "evaluation/test_combining_rules.py::test_lines_against_exact_fractions"
    ),
    "evaluation.least_squares.least_squares": (
        "evaluation/test_combining_rules.py::test_lines_against_exact_fractions"
    ),
    "evaluation.match_risk.match_risk": "evaluation/test_match_risk.py::test_against_a_double_loop",
    "evaluation.pmse.logistic_pmse": "evaluation/test_pmse.py::test_groups_against_their_shares",
    "evaluation.pmse.pmse": "evaluation/test_pmse.py::test_groups_against_their_shares",
    "evaluation.pmse.tree_pmse": "evaluation/test_pmse.py::test_groups_against_their_shares",
    "evaluation.regression_utility.regression_utility": (
        "evaluation/test_regression_utility.py::test_groups_against_their_means_and_shares"
    ),
    "evaluation.s_pmse.tree_score": "evaluation/test_s_pmse.py::test_pairs_against_their_shares",
    "evaluation.s_pmse.two_way_pmse": "evaluation/test_s_pmse.py::test_pairs_against_their_shares",
    "evaluation.original_and_datasets.complete_records": (
        "evaluation/test_complete_records.py::test_a_fit_is_that_of_the_complete_records"
    ),
    "evaluation.original_and_datasets.rising_edges": (
        "evaluation/test_original_and_datasets.py::test_edges_rise_or_are_refused"
    ),
    "evaluation.original_and_datasets.shared_codes": (
        "evaluation/test_original_and_datasets.py::test_codes_are_equal_where_the_cells_are_equal"
    ),
    "evaluation.published_table.own_figures": (
        "evaluation/test_published_table.py::test_a_table_s_own_figures_are_those_of_it_twice"
    ),
    "sheet.html.html": "test_sheets.py::test_every_text_and_number_of_a_sheet_is_told",
    "sheet.sheet.number": "test_sheets.py::test_a_number_keeps_its_digits",
    "evaluation.published_table.tabulate": (
        "evaluation/test_published_table.py::test_every_figure_against_its_parts"
    ),
    "evaluation.second_sample.second_sample": (
        "evaluation/test_second_sample.py::test_units_come_with_all_their_records"
    ),
    "evaluation.survey_estimates.survey_design": (
        "evaluation/test_survey_estimates.py::test_against_loops_over_strata_and_clusters"
    ),
    "evaluation.survey_estimates.survey_mean": (
        "evaluation/test_survey_estimates.py::test_against_loops_over_strata_and_clusters"
    ),
    "evaluation.survey_estimates.survey_quantile": (
        "evaluation/test_survey_estimates.py::test_quantiles_against_every_value"
    ),
    "evaluation.survey_estimates.survey_total": (
        "evaluation/test_survey_estimates.py::test_against_loops_over_strata_and_clusters"
    ),
    "evaluation.table_risk.table_risk": (
        "evaluation/test_table_risk.py::test_risks_stay_within_their_ends"
    ),
    "evaluation.table_utility.table_utility": (
        "evaluation/test_table_utility.py::test_scores_stay_within_their_ends"
    ),
    "evaluation.topcoding.topcode": (
        "evaluation/test_topcoding.py::test_any_values_against_a_loop"
    ),
    "evaluation.one_column.utility_table": ("evaluation/test_utility_table.py::test_against_numpy"),
    "evaluation.whack_a_mole.risk_summary": (
        "evaluation/test_whack_a_mole.py::test_the_largest_and_their_summary_against_loops"
    ),
    "evaluation.whack_a_mole.top_records": (
        "evaluation/test_whack_a_mole.py::test_the_largest_and_their_summary_against_loops"
    ),
    "evaluation.whack_a_mole.whack_a_mole": (
        "evaluation/test_whack_a_mole.py::test_against_a_loop"
    ),
    "synthesis.existing_fit.from_log_lik": (
        "synthesis/test_existing_fit.py::test_any_matrix_against_loops"
    ),
    "mechanisms.histogram.bins.bin_places": (
        "mechanisms/test_histogram_bins.py::test_counts_against_loops"
    ),
    "mechanisms.histogram.bins.bin_counts": (
        "mechanisms/test_histogram_bins.py::test_counts_against_loops"
    ),
    "mechanisms.histogram.bins.bin_probabilities": (
        "mechanisms/test_histogram_bins.py::test_probabilities_against_loops"
    ),
    "mechanisms.histogram.bins.cube_root_bins": (
        "mechanisms/test_histogram_bins.py::test_bins_by_the_rule"
    ),
    "mechanisms.histogram.bins.equal_edges": (
        "mechanisms/test_histogram_bins.py::test_equal_edges_ascend_from_end_to_end"
    ),
    "mechanisms.histogram.bins.public_edges": (
        "mechanisms/test_histogram_bins.py::test_edges_by_range_or_as_they_are_given"
    ),
    "risks.attribute_risk.attribute_risk": "risks/test_attribute_risk.py::test_against_loops",
    "risks.identification_risk.identification_risk": (
        "risks/test_identification_risk.py::test_against_a_double_loop"
    ),
    "risks.identification_risk.paired_outcomes": (
        "risks/test_identification_risk.py::test_datasets_keep_their_records"
    ),
    "risks.identification_risk.pattern_codes": (
        "risks/test_identification_risk.py::test_patterns_against_pairs"
    ),
    "tables.design.cells.distinct_rows": "tables/test_cells.py::test_distinct_rows_in_order",
    "tables.design.cells.make_cells": "tables/test_cells.py::test_against_a_dictionary",
    "bounds.lipschitz.add_largest": (
        "bounds/test_bound_kernels.py::test_largest_sizes_are_raised_by_those_of_a_block"
    ),
    "bounds.lipschitz.largest_sizes": (
        "bounds/test_bound_kernels.py::test_the_same_bits_as_numpy_in_every_layout"
    ),
    "bounds.lipschitz.blockwise_bounds": (
        "bounds/test_lipschitz.py::test_blocks_of_cells_give_the_same_bits"
    ),
    "bounds.joint.blockwise_joint_bounds": (
        "bounds/test_joint.py::test_blocks_of_cells_give_the_same_bits"
    ),
    "bounds.joint.joint_bounds": "bounds/test_joint.py::test_against_all_pairings_of_the_draws",
    "bounds.joint.unit_terms": (
        "bounds/test_unit_bounds.py::test_bounds_of_units_are_those_of_sums"
    ),
    "bounds.lipschitz.centre_and_spread": (
        "weights/test_weights.py::test_the_other_maps_against_loops"
    ),
    "bounds.lipschitz.lipschitz_bounds": "bounds/test_lipschitz.py::test_any_matrix_against_loops",
    "risks.pairwise.pairwise_weights": "risks/test_pairwise.py::test_against_every_pair",
    "risks.pairwise.three_way_weights": "risks/test_pairwise.py::test_against_every_pair",
    "risks.pairwise.four_way_weights": "risks/test_pairwise.py::test_against_every_pair",
    "privacy.discrete_noise.composed_delta": (
        "privacy/test_budget.py::test_composed_delta_is_the_sum_over_the_noise"
    ),
    "privacy.discrete_noise.delta_of_rho": (
        "privacy/test_budget.py::test_delta_of_rho_covers_the_gaussian_itself"
    ),
    "privacy.budget.noise_of": (
        "privacy/test_budget.py::test_laplace_scales_spend_epsilon_and_no_more"
    ),
    "privacy.budget.epsilon_of": (
        "privacy/test_seller.py::test_released_counts_cost_what_is_stated_and_nearly_all_of_it"
    ),
    "privacy.budget.noise_scale": (
        "mechanisms/test_perturbed_histogram.py::test_the_scale_never_spends_more_than_epsilon"
    ),
    "mechanisms.histogram.perturbed_histogram.perturbed_histogram": (
        "mechanisms/test_perturbed_histogram.py::test_seeded_noise_against_loops"
    ),
    "mechanisms.histogram.perturbed_histogram.seeded_laplace": (
        "mechanisms/test_perturbed_histogram.py::test_seeded_noise_against_loops"
    ),
    "mechanisms.histogram.perturbed_histogram.synthesize_from_histogram": (
        "mechanisms/test_perturbed_histogram.py::test_records_stay_in_bins_that_have_a_count"
    ),
    "r_numbers.rarith.column_means": (
        "r_numbers/test_rarith.py::test_columns_and_steps_against_loops"
    ),
    "r_numbers.rarith.ecdf_at": "r_numbers/test_rarith.py::test_columns_and_steps_against_loops",
    "r_numbers.rarith.extended_sum": (
        "r_numbers/test_rarith.py::test_columns_and_steps_against_loops"
    ),
    "r_numbers.rarith.mean": "r_numbers/test_rarith.py::test_against_exact_fractions",
    "r_numbers.rarith.quantile": "r_numbers/test_rarith.py::test_against_exact_fractions",
    "r_numbers.rarith.sum_in_order": "r_numbers/test_rarith.py::test_against_exact_fractions",
    "r_numbers.rarith.var": "r_numbers/test_rarith.py::test_against_exact_fractions",
    "weights.weights.reweight": "weights/test_reweight.py::test_against_a_loop",
    "weights.search.foreseen": "weights/test_search.py::test_what_a_fit_foresees_against_a_loop",
    "weights.search.leveled": "weights/test_search.py::test_leveled_against_a_loop",
    "weights.search.scale_to_meet": "weights/test_search.py::test_meets_the_bound_from_below",
    "weights.search.log_spread": (
        "weights/test_target_search.py::test_a_spread_has_no_unit_and_no_order"
    ),
    "weights.search.room_below": (
        "weights/test_target_search.py::test_a_spread_has_no_unit_and_no_order"
    ),
    "weights.search.stay_below": (
        "weights/test_target_search.py::test_any_search_ends_below_its_target"
    ),
    "weights.weights.downscale": "weights/test_truncation.py::test_against_loops",
    "weights.weights.weighted_epsilon_weights": "weights/test_truncation.py::test_against_loops",
    "weights.weights.column_weights": ("weights/test_fixed_scales.py::test_columns_against_loops"),
    "weights.weights.fixed_scale_risks": ("weights/test_fixed_scales.py::test_sizes_against_loops"),
    "weights.weights.fixed_scale_weights": (
        "weights/test_fixed_scales.py::test_sizes_against_loops"
    ),
    "weights.weights.lipschitz_weights": "weights/test_weights.py::test_any_matrix_against_loops",
    "weights.weights.risk_weights": "weights/test_weights.py::test_against_loops",
    "weights.weights.scalar_weights": (
        "weights/test_weights.py::test_one_weight_for_all_is_the_ratio_of_bounds"
    ),
    "weights.weights.scaled_bounds": "weights/test_weights.py::test_any_matrix_against_loops",
    "weights.weights.weights_from_bounds": "weights/test_weights.py::test_against_loops",
}


def public_functions(modules: Iterable[str]) -> Iterator[str]:
    """Names of the functions that public modules define, without the package's own."""
    for module in modules:
        package, *parts = module.split(".")
        if package != "pyvws" or not parts or any(part.startswith("_") for part in parts):
            continue
        if {parts[0], ".".join(parts)} & NOT_PURE.keys() and ".".join(parts) not in PURE:
            continue
        loaded = import_module(module)
        for name, value in vars(loaded).items():
            public = inspect.isfunction(value) and not name.startswith("_")
            if public and value.__module__ == module:
                yield ".".join([*parts, name])


@cache
def definitions(path: Path) -> dict[str, ast.stmt]:
    """What a test file defines at its top, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            named = [n for target in node.targets for n in ast.walk(target)]
            found |= {n.id: node for n in named if isinstance(n, ast.Name)}
    return found


def reached(path: Path, test: str) -> set[str]:
    """Names that a test uses, itself or through what its file defines."""
    known, names, waiting = definitions(path), set[str](), [test]
    while waiting:
        for node in ast.walk(known[waiting.pop()]):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and node.id not in names:
                names.add(node.id)
                waiting += [node.id] if node.id in known else []
    return names


def is_property_test(node: ast.stmt) -> bool:
    """Whether hypothesis draws what it is called with."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(mark, ast.Call) and ast.unparse(mark.func) == "given"
        for mark in node.decorator_list
    )


def test_every_pure_function_has_a_property_test() -> None:
    pure = set(public_functions(MODULES))
    assert pure - NOT_PURE_FUNCTIONS.keys() == PROPERTY_TESTS.keys()
    assert NOT_PURE_FUNCTIONS.keys() <= pure
    assert not NOT_PURE_FUNCTIONS.keys() & PROPERTY_TESTS.keys()


def test_what_is_not_pure_is_still_there() -> None:
    assert {unit for unit in NOT_PURE if f"pyvws.{unit}" not in MODULES} == set()
    assert {name for name in PURE if f"pyvws.{name}" not in MODULES} == set()


def test_every_public_name_of_the_package_is_judged() -> None:
    judged = PROPERTY_TESTS.keys() | NOT_PURE_FUNCTIONS.keys()
    for name in pyvws.__all__:
        value = getattr(pyvws, name)
        if inspect.isfunction(value):
            place = value.__module__.removeprefix("pyvws.")
            assert f"{place}.{name}" in judged or place.split(".")[0] in NOT_PURE, name


@pytest.mark.parametrize("function", PROPERTY_TESTS)
def test_the_property_test_is_there_and_calls_the_function(function: str) -> None:
    file, test = PROPERTY_TESTS[function].split("::")
    assert is_property_test(definitions(TESTS / file)[test])
    assert function.rpartition(".")[2] in reached(TESTS / file, test)


def test_a_new_function_or_a_plain_test_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "test_made.py"
    path.write_text("from m import f, h\ndef g(x): return f(x)\ndef test_a(): g(1)\n")
    assert not is_property_test(definitions(path)["test_a"])
    assert "f" in reached(path, "test_a")
    assert "h" not in reached(path, "test_a")
    found = set(
        public_functions(
            [
                "pyvws.weights.weights",
                "pyvws._base.checks",
                "pyvws.synthesis.loop",
                "pyvws.tables.files.read",
            ]
        )
    )
    assert "weights.weights.risk_weights" in found
    assert {name.split(".")[0] for name in found} == {"weights"}
