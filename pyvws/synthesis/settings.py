"""Declare each setting of a run once, and check which settings go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from pyvws._base.checks import choice, open_unit_interval, positive, threshold_level, whole_number
from pyvws._base.setting import UsualNumber, setting, settings_of
from pyvws.engines.engine import Engine
from pyvws.engines.registry import ENGINES, STAN_ENGINES, check_dp, engine_version, is_exact
from pyvws.engines.registry import is_own as own_engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserProgram
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism, data_weights
from pyvws.mechanisms.registry import MECHANISMS, make_mechanism
from pyvws.mechanisms.registry import is_own as own_mechanism
from pyvws.models.model import Model
from pyvws.models.registry import MODELS, find_model
from pyvws.models.registry import is_own as own_model
from pyvws.posterior.clamp import refuse_unclamped
from pyvws.posterior.systematic_draws import SAMPLINGS
from pyvws.synthesis.families import (
    OF_ALL_RECORDS,
    design_width,
    families_of,
    refuse_by_column,
    refuse_sizes,
    refuse_table,
    refuse_too_many,
    refuse_units,
)
from pyvws.synthesis.given_values import refuse_beside_given
from pyvws.synthesis.number_of_draws import checked_draws
from pyvws.synthesis.number_of_rows import checked_rows, refuse_unchanged
from pyvws.synthesis.one_column import outcome_entries
from pyvws.synthesis.outside_source import EXISTING_FIT, Fits, mechanism_of
from pyvws.synthesis.unfit import (
    refuse_counts,
    refuse_design,
    refuse_grid,
    refuse_other_mechanisms,
    refuse_pairs,
    refuse_targets,
    refuse_types,
    refuse_unconverged,
    refuse_windows,
)
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.schema import Schema
from pyvws.weights.search import LONGER

SCHEMA_FILE: Final = "schema.toml"
"""Name of the file that a release has its schema in."""

_LEAST_DRAWS = 4  # Of any SamplerSettings.
_DATASETS_OF_TABLE: Final = 5
_USUAL_DATASETS: Final = UsualNumber(20)  # Of one outcome.
_DEFAULT_MODEL: Final = "negative-binomial"
_TYPES: Final = ("schema", "table")
_OF_WEIGHTS = ("weight_column", "c", "g", "stage_scale")  # What scales weights that are strict.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of a run, checked on creation. Each field declares its own setting."""

    outcome: str | None = setting(
        None,
        "Column to synthesize. A run has an outcome, or a `schema` for several columns.",
        more="Values that the family can have, or booleans.",
    )
    schema: str | Path | Schema | None = setting(
        None,
        "File that says what is public of a table: synthesizes its columns together, at one joint "
        "epsilon.",
        more="The file says each column's family, predictors and kind, so `model`, `formula`, "
        "`keep` and `column` are for a single outcome. In Python also a `vws.Schema`.",
    )
    model: str | Model = setting(
        _DEFAULT_MODEL,
        "Family of the outcome given the predictors.",
        more="A name takes the family's default settings, unless they are given beside it.",
        choices=tuple(MODELS),
        panel="Model",
    )
    mechanism: str | Mechanism = setting(
        "lw",
        "How records are weighted.",
        more="A name takes the papers' default settings, unless they are given beside it.",
        choices=tuple(MECHANISMS),
        panel="Mechanism",
    )
    formula: str = setting(
        "~ 1", "Predictors, as in R, public and released; ~ . = all other columns.", panel="Model"
    )
    column: str | Mapping[str, Any] | None = setting(
        None,
        "Entries of the outcome as in a schema: missing, mass, rule, range, days_since, decimals.",
        more="In TOML, or a mapping. The run is then that of a table of one column.",
        in_steps=False,
        panel="Model",
    )
    keep: tuple[str, ...] | list[str] | str = setting(
        (), "Further public columns to release unchanged, or all.", choices=("all",)
    )
    unit: str | None = setting(
        None,
        "Column of ids, such as households: epsilon is then of all records of one id.",
        more="So are bounds and weights. A schema has an entry `unit` of its own.",
        panel="Mechanism",
    )
    datasets: int = setting(
        _USUAL_DATASETS,
        "Synthetic datasets. Each spends epsilon, unless `draws_per_release` is smaller.",
        more="Each is made of one posterior draw. A table gets 5 if not given.",
    )
    draws_per_release: int | None = setting(
        None,
        "Posterior draws that the datasets come from, at most `datasets`. Each draw spends "
        "epsilon, however many datasets it makes. One draw a dataset if not given.",
        only="fits_model",
        more="Larger = less private. The datasets take the draws in turn. 1 pays epsilon once for "
        "all datasets; then nothing estimates the variance between draws, and no combining rule "
        "gives an interval. With 2 or more the combining rules take the draws as their unit.",
    )
    sampling: str = setting(
        "independent",
        "How the synthetic records of a posterior draw are drawn.",
        only="fits_model",
        more="systematic spreads the random numbers of like records evenly, so that counts come "
        "near what the draw expects, at the same epsilon. Values of poisson, negative-binomial, "
        "gamma and beta stay independent.",
        choices=SAMPLINGS,
    )
    reweight: bool = setting(
        False,
        "Raise weights that lie below the bound (Algorithm 3).",
        only="reweights",
        panel="Mechanism",
    )
    tolerance: float = setting(
        0.05,
        "How near a searched bound must come to the one to meet, as a share of it.",
        more="The bound of a searched `epsilon` ends below it by this share, or by more where "
        "the bound's noise asks for room. Larger = easier to meet.",
        panel="Mechanism",
    )
    accept_above_target: bool = setting(
        False,
        "Release also where truncation or downscaling ends above `epsilon`.",
        more="The release then states the larger figure.",
        panel="Mechanism",
    )
    threshold: float = setting(
        1.0,
        "Quantile of the draws' maxima that the bounds take. Below 1 there is no guarantee.",
        panel="Mechanism",
    )
    round: bool = setting(
        False,
        "Round the outcome to whole numbers first.",
        more="Halves go to the even number, as in R.",
        panel="Model",
    )
    keep_order: bool = setting(
        False,
        "Release the rows in the table's order; otherwise in a secret random one.",
        more="An order can tell of the outcome: of records sorted by income, a row's place "
        "tells its rank. No guarantee covers it.",
    )
    k: float = setting(
        0.95,
        "First k of `reweight` to try, strictly between 0 and 1.",
        more="The default is the paper's. Larger = nearer to the bound.",
        needs="reweight",
        panel="Mechanism",
    )
    epsilon: float | None = setting(
        None,
        "Target for a dataset, for which the weights are searched.",
        only="takes_target",
        more="The constant of the weights, and k after it with `reweight`, is searched until 2 "
        "Delta lies below the target in the fit that ends the search and in one under the same "
        "weights with four times the draws. Larger = less private.",
        panel="Mechanism",
    )
    types: str = setting(
        "schema",
        "Where synthetic columns of a table get their types and spelling from.",
        more="schema: whole numbers where `decimals` is 0 and for counts, labels and dates as the "
        "schema spells them. table: the table's own types, which one confidential cell can change.",
        choices=_TYPES,
        needs="schema",
    )
    records: int | Literal["noisy"] | None = setting(
        None,
        "Rows of each dataset: a number that is public already, or noisy. As many as records "
        "if not given.",
        more="noisy adds exact discrete Laplace noise to the number of records, and takes at "
        "least 1 (`pip install opendp`). Only where no column is released unchanged.",
    )
    records_epsilon: float | None = setting(
        None,
        "What a noisy number of rows costs, once for all datasets.",
        more="Larger = less noise, less private.",
        needs="records",
    )
    accept_unconverged: bool = setting(
        False,
        "In a run that would be dp, release draws whose chains fail their diagnostics.",
        more='The guarantee is "none" then, whether they fail or not.',
        panel="Mechanism",
    )
    compared: bool = setting(
        False,
        "Say in the statement that settings were compared on this table first.",
        more="`pyvws compare` sets it in the run.toml that it writes. The ledger then lists the "
        "comparison as not accounted, and nothing strict is claimed.",
    )
    downscale: bool = setting(
        False,
        "Lower each record's weight and refit until its bound is at most epsilon / 2.",
        more="The weight alpha_i becomes psi_i alpha_i with psi_i = min(1, (epsilon / 2) / "
        "Delta_i) [global2022].",
        panel="Mechanism",
    )
    psi: float | None = setting(
        None,
        "One factor of `downscale` for all records, strictly between 0 and 1.",
        more="Larger = smaller steps and more refits. The papers leave psi open.",
        needs="downscale",
        panel="Mechanism",
    )
    passes: int = setting(
        5, "Refits that `downscale` makes at most.", needs="downscale", panel="Mechanism"
    )
    settings: SamplerSettings = field(default_factory=SamplerSettings)
    engine: str | Engine = setting(
        "native",
        "Sampler; the last three run Stan.",
        more="All of them sample the same density, grid on the points of a public grid; laplace "
        "resamples from a normal approximation; auto takes laplace where it is good, else native.",
        choices=ENGINES,
        panel="Fit",
    )
    program: UserProgram | None = setting(
        None,
        "Your own Stan program instead of the model's, under a Stan engine named by a string.",
        more="Its log_lik is bounded. Its y_rep are the synthetic values; without y_rep its draws "
        "predict as the model does, by the same parameter names.",
        option=False,
        in_steps=False,
    )
    existing_fit: Fits = EXISTING_FIT

    def __post_init__(self) -> None:
        if isinstance(self.schema, str | Path):
            object.__setattr__(self, "schema", Schema.read(self.schema))
        object.__setattr__(self, "model", find_model(self.model))
        object.__setattr__(self, "mechanism", make_mechanism(mechanism_of(self)))
        self._check_outcome()
        object.__setattr__(self, "threshold", threshold_level(self.threshold))
        usual = self.datasets is _USUAL_DATASETS and self.public_table is not None
        datasets = _DATASETS_OF_TABLE if usual else self.datasets
        object.__setattr__(self, "datasets", whole_number(datasets, "datasets", least=1))
        draws = checked_draws(
            self.draws_per_release,
            datasets=self.datasets,
            sampled=self.settings.draws * self.settings.chains,
            reads_outcome=self._reads_outcome,
        )
        object.__setattr__(self, "draws_per_release", draws)
        choice(self.sampling, "sampling", SAMPLINGS)
        choice(self.types, "types", _TYPES)
        open_unit_interval(self.k, "k")
        open_unit_interval(self.tolerance, "tolerance")
        if isinstance(self.engine, str):
            engine_version(self.engine)
        refuse_grid(self)
        if self.program is not None and self.engine not in STAN_ENGINES:
            raise InputError(f"A Stan program needs engine {', '.join(STAN_ENGINES)} by its name.")
        refuse_other_mechanisms(self)
        refuse_counts(self)
        self._check_target()
        mechanism = cast(Mechanism, self.mechanism)
        for family in self.families if mechanism.facts.clamps else ():
            refuse_unclamped(family)
        refuse_pairs(self)
        self._check_records()
        refuse_beside_given(self)
        if self.unit_column is not None:
            whole = self.public_table is not None and self.public_table.members is not None
            linked = whole and (self.keep_order or self._reads_outcome)
            own = self.program is not None
            refuse_units(mechanism, self.unit_column, program=own, linked=linked)
        refuse_unconverged(self.accept_unconverged and not self._clamped_one_by_one)
        refuse_types(self.strict and self.types != _TYPES[0])
        check_dp(self.engine, self.strict)
        self._check_fits()

    def check_design(self, K: int) -> None:
        """Raise InputError for K design columns that no fit to an outcome takes, whatever it is."""
        mechanism, family = cast(Mechanism, self.mechanism), cast(Model, self.model)
        if mechanism.facts.fits_model and self.program is None:
            refuse_too_many(str(self.outcome), family, K)
        refuse_design(self.engine, self.settings, mechanism, family, K)

    def _check_fits(self) -> None:
        of_run = cast(Mechanism, self.mechanism), self.families, self.engine
        refuse_windows(*of_run, program=self.program is not None)
        if self.public_table is not None:
            longest = self.settings.draws * self.settings.chains
            searched = self.target_epsilon is not None
            refuse_sizes(self.public_table, longest * (LONGER if searched else 1), searched)
            if len(self.families) == 1:
                K = design_width(self.public_table)
                refuse_design(self.engine, self.settings, of_run[0], self.families[0], K)
        elif self.formula == "~ 1":  # Of others the table's public columns say how many there are.
            self.check_design(1)

    def _check_target(self) -> None:
        object.__setattr__(self, "passes", whole_number(self.passes, "passes", least=1))
        if self.psi is not None:
            open_unit_interval(self.psi, "psi")
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon")
        refuse_targets(self)

    def _check_records(self) -> None:
        of = self.public_table
        if self.records is None and of is not None:
            object.__setattr__(self, "records", None if of.public else of.records)
        if self.records is None:
            return
        refuse_unchanged(self.records, self._unchanged)
        records, epsilon = checked_rows(
            *(self.records, self.records_epsilon),
            keep_order=self.keep_order,
            fits_model=self.mechanism.facts.fits_model or self.mechanism.facts.takes_table,  # type: ignore[union-attr]
            reads_outcome=self._reads_outcome,
            whole=self.unit_column is None or getattr(self.schema, "members", None) is not None,
        )
        object.__setattr__(self, "records", records)
        object.__setattr__(self, "records_epsilon", epsilon)

    def kept(self, columns: Sequence[str]) -> list[str]:
        """The further columns that `keep` names among those of a table."""
        names = [self.keep] if isinstance(self.keep, str) else list(self.keep)
        return list(columns) if self.keep == "all" else names

    @property
    def unit_column(self) -> str | None:
        """The column whose values name the units of privacy; None where a record is a unit."""
        return self.unit if self.public_table is None else self.public_table.unit

    @property
    def sampler(self) -> SamplerSettings:
        """How long to sample; an exact engine has no chains to compare: one draw a dataset."""
        if not is_exact(self.engine):
            return self.settings
        return replace(self.settings, draws=max(_LEAST_DRAWS, self.datasets), chains=1)

    @property
    def public_table(self) -> Schema | None:
        """The schema of a run on a table; None for a run on one outcome."""
        return cast("Schema | None", self.schema)

    @property
    def families(self) -> tuple[Model, ...]:
        """The families of the columns to synthesize, in their order."""
        if self.public_table is None:
            return (cast(Model, self.model),)
        return families_of(self.public_table)

    @property
    def _reads_outcome(self) -> bool:
        return any(family.reads_outcome for family in self.families)

    @property
    def prepared_from_data(self) -> bool:
        """Whether any value of a family, or an entry of the schema, comes from the table."""
        proposed = self.public_table is not None and self.public_table.under_review
        return proposed or any(family.prepared_from_data for family in self.families)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Names of the parts (mechanism, model, engine) that are the user's own and unchecked."""
        own = {
            "mechanism": own_mechanism(cast(Mechanism, self.mechanism)),
            "model": any(own_model(family) for family in self.families),
            "engine": own_engine(self.engine),
        }
        return tuple(part for part, holds in own.items() if holds)

    @property
    def _clamped_one_by_one(self) -> bool:
        """Whether the run clamps each term, and only the term's record and settings decide it."""
        mechanism = cast(Mechanism, self.mechanism)
        return mechanism.facts.claim == "dp" and not (
            self.unchecked
            or self._reads_outcome
            or self.prepared_from_data
            or self.compared
            or data_weights(mechanism, downscaled=self.downscale)
        )

    @property
    def strict(self) -> bool:
        """Whether the statement will say "dp", whatever the table holds."""
        return self._clamped_one_by_one and not self.accept_unconverged

    @property
    def _unchanged(self) -> set[str]:
        """The columns that the settings name to be released as they are."""
        if self.public_table is not None:
            return set(self.public_table.public)
        return {*read_formula(self.formula).columns, *self.kept(())} - {self.outcome, "all"}

    @property
    def only_in_memory(self) -> bool:
        """Whether a setting in use needs a table that fits in memory."""
        return any(
            not one.in_steps and getattr(self, one.name) != one.default
            for one in settings_of(type(self))
        )

    @property
    def target_epsilon(self) -> float | None:
        """The requested epsilon of a search, of downscaling, or of the mechanism itself."""
        own = cast(Mechanism, self.mechanism).facts.own_epsilon
        return self.epsilon if own is None else own

    @property
    def public(self) -> dict[str, Any]:
        """The settings by name that a guarantee takes as chosen without the data.

        They are the family's, the constants of strict weights, a public number of rows and
        systematic sampling. The engine grid's own follow from the formula too.
        """
        found: dict[str, Any] = {"schema": SCHEMA_FILE}
        if self.public_table is None:
            family = cast(Any, self.model)
            own = [one.name for one in fields(family) if "setting" in one.metadata]
            found = {name: getattr(family, name) for name in own}
        mechanism = cast(Mechanism, self.mechanism)
        if mechanism.facts.weights_source in ("public", "reference", "staged"):
            constants = {name: getattr(mechanism, name, None) for name in _OF_WEIGHTS}
            found |= {name: value for name, value in constants.items() if value is not None}
        if self.sampling != SAMPLINGS[0]:
            found["sampling"] = self.sampling
        return found | ({"records": self.records} if isinstance(self.records, int) else {})

    def recorded(self, families: Mapping[str, Model]) -> dict[str, Any]:
        """The settings as plain values, for summary.json; `families` as prepared for the table."""
        apart = ("model", "mechanism", "settings", "engine", "program", "schema", "existing_fit")
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in apart}
        mechanism: Any = self.mechanism
        known: Mapping[str, Any] = families
        made = {name: {"model": one.name, **asdict(one)} for name, one in known.items()}
        return {
            **made.get(self.outcome or "", {"columns": made}),
            "mechanism": mechanism.name,
            **{name: x for name, x in asdict(mechanism).items() if name != "alpha"},
            **{name: value for name, value in own.items() if value is not None},
            **asdict(self.settings),
            "program": self.program and self.program.text,
        }

    def _check_outcome(self) -> None:
        """Refuse both of outcome and schema, none of them, and settings that a schema has."""
        changing = [name for name in ("reweight", "downscale", "epsilon") if getattr(self, name)]
        refuse_by_column(cast(Mechanism, self.mechanism), self.schema, changing)
        if self.schema is None:
            if not isinstance(self.outcome, str):
                raise InputError(
                    "outcome must be the name of one column. Several columns take a schema "
                    "(--schema), which pyvws schema proposes."
                )
            if self.column is not None:
                outcome_entries(
                    self.outcome, self.column, self.model, self.formula, round=self.round
                )
            return
        given = {"outcome": self.outcome, "formula": self.formula != "~ 1", "keep": self.keep}
        given |= {"unit": self.unit, "column": self.column is not None}
        given["model"] = self.model != find_model(_DEFAULT_MODEL)
        alone = {
            "threshold": self.threshold != 1.0,
            "round": self.round,
            OF_ALL_RECORDS[0]: self.program is not None,
            OF_ALL_RECORDS[1]: cast(Mechanism, self.mechanism).facts.reference is not None,
        }
        refuse_table(
            *(self.schema, cast(Mechanism, self.mechanism)),
            of_one_outcome=[name for name, value in given.items() if value],
            engine=self.engine,
            of_one_conditional=[name for name, value in alone.items() if value],
        )
