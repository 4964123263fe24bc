"""Declare each setting of a run once, and check which settings go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from pyvws._base.checks import choice, open_unit_interval, positive, threshold_level, whole_number
from pyvws._base.setting import check_needs, setting, settings_of
from pyvws.bounds.lipschitz import Accounting
from pyvws.engines.engine import Engine
from pyvws.engines.grid import check_grid
from pyvws.engines.registry import (
    ENGINES,
    STAN_ENGINES,
    check_dp,
    check_table,
    engine_version,
    is_exact,
)
from pyvws.engines.registry import is_own as own_engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import CHECKING_ENGINES, UserProgram
from pyvws.errors import InputError
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.mechanism import Facts, Mechanism, data_weights
from pyvws.mechanisms.noisy_counts import COUNT_MODELS
from pyvws.mechanisms.registry import MECHANISMS, make_mechanism, mechanisms_that
from pyvws.mechanisms.registry import is_own as own_mechanism
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.models.model import Model
from pyvws.models.registry import MODELS, find_model
from pyvws.models.registry import is_own as own_model
from pyvws.plan.make import make_plan
from pyvws.plan.plan import Plan
from pyvws.plan.refusal import refuse
from pyvws.plan.refusals import OF_PLAN
from pyvws.posterior.clamp import refuse_unclamped
from pyvws.posterior.systematic_draws import SAMPLINGS
from pyvws.privacy.budget import noise_scale
from pyvws.statement.releases import refuse_other_units
from pyvws.synthesis.earlier_releases import read_earlier
from pyvws.synthesis.outside_source import EXISTING_FIT, Fits, check_fits
from pyvws.synthesis.total_of_draws import sharing
from pyvws.tables.design.cells import make_cells
from pyvws.tables.schema.schema import Schema

_LEAST_DRAWS = 4  # Of any SamplerSettings.
_DEFAULT_MODEL: Final = "negative-binomial"
_TYPES: Final = ("schema", "table")
_NO_CELLS: Final = make_cells(np.ones(1), np.ones((1, 1))).part(slice(0, 0))


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
        more="`model`, `formula`, `keep` and `column` are for a single outcome. In Python also"
        " a `vws.Schema`.",
    )
    model: str | Model = setting(
        _DEFAULT_MODEL,
        "Family of the outcome given the predictors; classes or conditionals for noisy-counts.",
        more="A name takes the family's default settings, unless they are given beside it.",
        choices=(*MODELS, *COUNT_MODELS),
        panel="Model",
    )
    mechanism: str | Mechanism | None = setting(
        None,
        "How records are protected.",
        more="Every run names one. A name takes the papers' default settings, unless they are "
        "given beside it.",
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
        5,
        "Synthetic datasets. Each spends epsilon, unless `draws_per_release` is smaller.",
        more="Each is made of one posterior draw.",
    )
    draws_per_release: int | None = setting(
        None,
        "Posterior draws that the datasets come from, at most `datasets`. Each draw spends "
        "epsilon, however many datasets it makes. One draw a dataset if not given.",
        only="fits_model",
        more="Larger = less private. 1 pays epsilon once for all datasets, and then no "
        "combining rule gives an interval.",
    )
    sampling: str = setting(
        "independent",
        "How the synthetic records of a posterior draw are drawn.",
        only="fits_model",
        more="systematic spreads the random numbers of like records evenly, at the same "
        "epsilon, so that counts come near what the draw expects.",
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
        more="Larger = easier to meet.",
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
        more="An order can reveal the outcome, and no guarantee covers it.",
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
        more="A fit with four times the draws confirms that 2 Delta lies below the target. "
        "Larger = less private.",
        panel="Mechanism",
    )
    accounting: Accounting = setting(
        "papers",
        "Figure that `epsilon` and `match` aim at: papers, 2 Delta; window, epsilon_of_window.",
        more="The statement has both figures either way. A bound to `match` is half of the figure.",
        choices=("papers", "window"),
        panel="Mechanism",
    )
    total_epsilon: float | None = setting(
        None,
        "What all draws of a strict fit may cost together; it sets epsilon of mechanism censored.",
        more="Each draw gets its share, and more with a `delta`. A first stage and a noisy "
        "number of rows are paid first. Larger = less private.",
        panel="Mechanism",
    )
    delta: float | None = setting(
        None,
        "For censored: public delta of `total_epsilon`, well below 1 over the number of records.",
        more="All draws together then cost `total_epsilon` at this delta. Larger = less private.",
        needs="total_epsilon",
        panel="Mechanism",
    )
    accept_delta: bool = setting(
        False, "Run also at a delta above 1 over the number of records.", panel="Mechanism"
    )
    types: str = setting(
        "schema",
        "Where synthetic columns of a table get their types and spelling from.",
        more="table: the table's own types, which one confidential cell can change.",
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
        more="The ledger then lists the comparison as not accounted, and nothing strict is "
        "claimed.",
    )
    after: tuple[str, ...] | list[str] | str = setting(
        (),
        "Earlier releases of this table, whose costs the statement adds to its own.",
        more="Each is a release, or its privacy.json.",
    )
    downscale: bool = setting(
        False,
        "Lower each record's weight and refit until its bound is at most epsilon / 2.",
        more="The weight alpha_i becomes psi_i alpha_i with psi_i = min(1, (epsilon / 2) / "
        "Delta_i) [global2022].",
        panel="Mechanism",
    )
    most_seconds: float = setting(
        300.0,
        "Processor seconds that a run may take by its forecast; a longer one makes no fit.",
        more="The forecast is rough, for engine native and noisy-counts alone. A fit that "
        "claims dp has no limit.",
        panel="Fit",
    )
    settings: SamplerSettings = field(default_factory=SamplerSettings)
    engine: str | Engine = setting(
        "native",
        "Sampler; the last three run Stan.",
        more="grid draws on a public grid. laplace resamples from a normal approximation, and "
        "auto takes it where it is good, else native.",
        choices=ENGINES,
        panel="Fit",
    )
    program: UserProgram | None = setting(
        None,
        "Your own Stan program instead of the model's, under a Stan engine named by a string.",
        more="Its y_rep are the synthetic values; without y_rep its draws predict as the model"
        " does.",
        option=False,
        in_steps=False,
    )
    existing_fit: Fits | None = EXISTING_FIT

    facts: Facts = field(init=False, repr=False, compare=False, metadata={"prepared": True})
    """The facts of the mechanism, of which a plan asks a hundred times."""

    earlier: tuple[Mapping[str, Any], ...] = field(
        init=False, repr=False, compare=False, metadata={"prepared": True}
    )
    """The statements that `after` names."""

    plan: Plan = field(init=False, repr=False, compare=False, metadata={"prepared": True})
    """What the settings do to which columns, as far as they say it without a table."""

    def __post_init__(self) -> None:
        if isinstance(self.schema, str | Path):
            self._keep("schema", Schema.read(self.schema))
        self._keep("model", find_model(self.model))
        self._keep_mechanism(make_mechanism(self._mechanism_of_fit()))
        self._check_values()
        plan = make_plan(self)
        self._keep("datasets", whole_number(self.datasets, "datasets", least=1))
        self._keep("records", plan.rows if self.records is None else self.records)
        after = (self.after,) if isinstance(self.after, str | Path) else self.after
        named = tuple(map(str, after))
        self._keep("after", named)
        self._keep("earlier", read_earlier(named))
        refuse_other_units([*self.earlier, {"unit_of_privacy": plan.unit_of_privacy}])
        if self.total_epsilon is not None:
            self._keep_mechanism(sharing(plan, positive(self.total_epsilon, "total_epsilon")))
            plan = make_plan(self)
        self._keep("plan", plan)
        self._keep("plan", self.checked(plan).settled())

    def _keep(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _keep_mechanism(self, mechanism: Mechanism) -> None:
        self._keep("mechanism", mechanism)
        self._keep("facts", mechanism.facts)

    def _mechanism_of_fit(self) -> str | Mechanism | None:
        """The mechanism of the settings, or what the weights of a fit made elsewhere are.

        Raises InputError for settings of a fit that such a run does not make.
        """
        if self.existing_fit is None:
            return self.mechanism
        weights = check_fits(self.existing_fit)[0].weights
        mechanism = Unweighted() if weights is None else GivenWeights(weights)
        asked = {
            "mechanism": self.mechanism not in (None, mechanism),
            "engine": self.engine != "native",
            "program": self.program is not None,
            **{name: bool(getattr(self, name)) for name in ("reweight", "downscale", "epsilon")},
            "unit": bool(self.unit or getattr(self.schema, "unit", None)),
            "survey_weight": bool(getattr(self.schema, "survey_weight", None)),
        }
        given = [name for name, holds in asked.items() if holds]
        if given:
            raise InputError.by("existing-fit-with-setting", given=", ".join(given))
        return mechanism

    def _refuse_beside_given(self) -> None:
        """Raise InputError for settings of a prediction that a run with y_rep does not make."""
        fewer = self.draws_per_release is not None and self.draws_per_release < self.datasets
        asked = {
            "draws_per_release": fewer,
            "records": self.records is not None,
            "sampling": self.sampling != "independent",
        }
        given = [name for name, holds in asked.items() if holds]
        if self.brings_values and given:
            raise InputError.by("y-rep-with-setting", given=", ".join(given))

    def _check_values(self) -> None:
        """Keep each value as the run has it; InputError for one that its setting cannot have."""
        self._keep("threshold", threshold_level(self.threshold))
        if self.draws_per_release is not None:
            draws = whole_number(self.draws_per_release, "draws_per_release", least=1)
            self._keep("draws_per_release", draws)
        choice(self.sampling, "sampling", SAMPLINGS)
        choice(self.types, "types", _TYPES)
        choice(self.accounting, "accounting", get_args(Accounting))
        open_unit_interval(self.k, "k")
        open_unit_interval(self.tolerance, "tolerance")
        if isinstance(self.engine, str):
            engine_version(self.engine)
        positive(self.most_seconds, "most_seconds")
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon")
        if isinstance(self.records, str) and self.records != "noisy":
            raise InputError.by("records-words", records=self.records)
        if self.records not in (None, "noisy"):
            self._keep("records", whole_number(self.records, "records", least=1))
        if self.records == "noisy" and self.records_epsilon is not None:
            noise_scale(positive(self.records_epsilon, "records_epsilon"), "loo")
            self._keep("records_epsilon", float(self.records_epsilon))

    def checked(self, plan: Plan) -> Plan:
        """The plan; InputError for what it, the settings and the engine cannot have together."""
        refuse(plan, OF_PLAN)
        self._refuse_beside_given()
        check_dp(self.engine, plan.strict)
        for family in plan.families:
            if self.facts.clamps:
                refuse_unclamped(family)
            for clamp in () if own_model(family) else self.facts.windows:
                clamp.shift(family, _NO_CELLS)
        several = len(plan.conditionals) > 1
        if self.facts.clamps and (several or plan.unit is not None):
            check_table(self.engine)
        for own in plan.conditionals if self.is_exact and not several else ():
            if own.K is not None and not own.family.prepared_from_data:
                check_grid(self.settings, own.family, own.K, self.facts.windows)
        return plan

    @property
    def strict(self) -> bool:
        """Whether the statement will say "dp", whatever the table holds."""
        return self.plan.strict

    @property
    def sampler(self) -> SamplerSettings:
        """How long to sample; an exact engine has no chains to compare: one draw a dataset."""
        if not self.is_exact:
            return self.settings
        return replace(self.settings, draws=max(_LEAST_DRAWS, self.datasets), chains=1)

    @property
    def is_exact(self) -> bool:
        """Whether the engine draws from a clamped target itself, without a chain."""
        return is_exact(self.engine)

    @property
    def brings_values(self) -> bool:
        """Whether the fit brings synthetic values along, so no family's prediction is used."""
        program = self.program is not None and self.program.predicts
        return self.existing_fit is not None or program

    @property
    def has_entries_by_record(self) -> bool:
        """Whether a setting has an entry for each record, in the order of the table."""
        data = {} if self.program is None else self.program.data
        outside = self.existing_fit is not None or self.facts.weights_source == "outside"
        return outside or any(np.ndim(value) for value in data.values())

    @property
    def is_stan(self) -> bool:
        """Whether the engine is one of Stan's, by its name."""
        return self.engine in STAN_ENGINES

    @property
    def own_program(self) -> str:
        """The key of the caveat on a Stan program of the agency's own; empty without one."""
        if self.program is None:
            return ""
        return "own-program" if self.engine in CHECKING_ENGINES else "unchecked-program"

    @property
    def draws_made(self) -> int:
        """The draws of a fit."""
        return self.settings.draws * self.settings.chains

    @property
    def draws_needed(self) -> int:
        """The draws that the datasets come from."""
        return self.draws_per_release or self.datasets

    @property
    def chosen_mechanism(self) -> Mechanism:
        """The mechanism itself, which checked settings have in the place of its name."""
        assert self.mechanism is not None
        assert not isinstance(self.mechanism, str)
        return self.mechanism

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Names of the parts (mechanism, model, engine) that are the user's own and unchecked."""
        assert not isinstance(self.model, str)
        own = {
            "mechanism": own_mechanism(self.chosen_mechanism),
            "model": own_model(self.model),
            "engine": own_engine(self.engine),
        }
        return tuple(part for part, holds in own.items() if holds)

    @property
    def clamps_by_settings(self) -> bool:
        """Whether the mechanism clamps each term, and no setting lets the table decide how."""
        by_data = data_weights(self.chosen_mechanism, downscaled=self.downscale)
        return self.facts.claim == "dp" and not (self.unchecked or self.compared or by_data)

    @property
    def of_other_mechanisms(self) -> tuple[str, str] | None:
        """A setting that was given for other mechanisms, and these; None where there is none.

        Raises InputError for a setting that needs another one.
        """
        declarations = {declared.name: declared for declared in settings_of(type(self))}
        values = {name: getattr(self, name) for name in declarations}
        given = {name: x for name, x in values.items() if x != declarations[name].default}
        check_needs(declarations, given)
        for name in given:
            only = declarations[name].only
            if only and not getattr(self.facts, only):
                return name, ", ".join(mechanisms_that(only))
        return None

    @property
    def of_one_outcome(self) -> list[str]:
        """The settings that were given and that a schema has itself."""
        given = {"outcome": self.outcome, "formula": self.formula != "~ 1", "keep": self.keep}
        given |= {"unit": self.unit, "column": self.column is not None}
        given["model"] = self.model != find_model(_DEFAULT_MODEL)
        return [name for name, value in given.items() if value]

    @property
    def only_in_memory(self) -> bool:
        """Whether a setting in use needs a table that fits in memory."""
        whole = (declared for declared in settings_of(type(self)) if not declared.in_steps)
        return any(getattr(self, declared.name) != declared.default for declared in whole)

    @property
    def target_epsilon(self) -> float | None:
        """The requested epsilon of a search, of downscaling, or of the mechanism itself."""
        own = self.facts.own_epsilon
        return self.epsilon if own is None else own
