"""Settings of how long a sampler runs in each fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyvws._base.checks import as_text, finite_number, open_unit_interval, whole_number
from pyvws._base.setting import setting
from pyvws.errors import InputError

_MOST = 10**9  # No memory holds more iterations or chains.
_LEAST_WARMUP = 100
_LEAST_SHORTENED = 300  # No warm-up is shortened below it: steps then fit less well.
_STEPS_ALONE = 0.15  # Share of the warm-up that finds the steps where their shape is known.


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerSettings:
    """Iterations of one fit: `warmup` and `draws` for each of `chains`; S = chains x draws.

    `refit_warmup` is the warm-up of fits that start from the draws of an earlier one. None takes
    half of `warmup` under the native engine, though no fewer than 300 of it, and all elsewhere.
    Nominal columns with a `coefficient_sd` take 15 % of `warmup` there, and no fewer than 100.
    `target_accept` in (0, 1) trades speed for fewer divergences; larger = smaller steps.
    `grid_range` and `grid_steps` fix the grid of engine grid, which runs no chain. Raises
    InputError for numbers out of range: fewer than 4 draws, 1 chain or 100 of warm-up.

    Examples
    --------
    >>> SamplerSettings(draws=500, chains=2).warmup
    1000
    """

    draws: int = setting(1000, "Draws of each chain. More settle the bound better.")
    warmup: int = setting(
        1000,
        "Warm-up iterations of each chain.",
        more="Nominal columns with a `coefficient_sd` take 15 % of them under the native engine.",
    )
    chains: int = setting(4, "Chains of each fit.")
    target_accept: float = setting(
        0.8, "Acceptance that the sampler aims at; nearer 1 = fewer divergences, slower."
    )
    refit_warmup: int | None = setting(
        None,
        "Warm-up of a fit that starts from an earlier fit's draws; if not given, half of "
        "`warmup` under the native engine, all of it under others.",
    )
    grid_range: tuple[float, ...] = setting(
        (),
        "Public range of each parameter of engine grid: the lower and the upper end of each, in "
        "one row.",
        more="Coefficients come first, on the link's scale. The logarithms of the family's own"
        " parameters follow: of 1/phi, 1/kappa and 1/shape, of sigma, of gaps. If not "
        "given: -10 to 10, and -6 to 4 for a logarithm.",
    )
    grid_steps: tuple[int, ...] = setting(
        (),
        "Number of steps of each parameter of engine grid, in the order of `grid_range`.",
        more="At most 1,000,000 points in all. If not given: 20,000 for one coefficient alone,"
        " else about 200,000 points in all.",
    )

    def __post_init__(self) -> None:
        for name in ("draws", "warmup", "chains"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, least=1))
            if getattr(self, name) > _MOST:
                raise InputError.by("sampler-too-long", name=name, most=_MOST)
        open_unit_interval(self.target_accept, "target_accept")
        if self.draws < 4:
            raise InputError.by("draws-for-diagnostics", draws=self.draws)
        if self.refit_warmup is not None:
            refit = whole_number(self.refit_warmup, "refit_warmup", least=1)
            object.__setattr__(self, "refit_warmup", refit)
        for name in ("warmup", "refit_warmup"):
            given = getattr(self, name)
            if given is not None and given < _LEAST_WARMUP:
                raise InputError.by(
                    "sampler-too-short", name=name, least_warmup=_LEAST_WARMUP, given=given
                )

        ends = tuple(finite_number(end, "grid_range") for end in self.grid_range)
        pairs = zip(ends[::2], ends[1::2], strict=False)
        if len(ends) % 2 or any(low >= high for low, high in pairs):
            raise InputError.by("grid-range-pairs", grid_range=as_text(self.grid_range))
        steps = tuple(whole_number(number, "grid_steps", least=1) for number in self.grid_steps)
        object.__setattr__(self, "grid_range", ends)
        object.__setattr__(self, "grid_steps", steps)

    def after(
        self, previous: object | None, *, share: float, shaped: bool = False
    ) -> SamplerSettings:
        """The settings of a fit that starts from an earlier fit's draws; else these settings.

        `share` of the warm-up is the engine's own choice; a short warm-up stays as it is. A target
        whose scale is `shaped` takes less of it in any fit.
        """
        chosen = self.refit_warmup if previous is not None else None
        if chosen is None and shaped:
            chosen = max(_LEAST_WARMUP, round(_STEPS_ALONE * self.warmup))
        elif chosen is None and previous is not None:
            chosen = min(self.warmup, max(_LEAST_SHORTENED, round(share * self.warmup)))
        return self if chosen is None else replace(self, warmup=chosen)
