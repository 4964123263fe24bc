"""The words of a privacy statement, each under its key; nothing outside compares texts.

The caveats follow the questions of [nist2025]: unit of privacy, neighbours, what is trusted, what
is not covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pyvws._base.phrase import Phrase

__all__ = ["CAVEATS", "SEED_TRUST", "TRUST", "USES", "caveat", "caveat_keys", "use"]

TRUST: Final = (
    "The agency holds the confidential table and runs the mechanism; nobody else sees it, the "
    "seed, or the folder confidential/.",
    "The columns under columns_released_unchanged are public already.",
    "The package, its libraries and the processor compute what they state; floating-point "
    "rounding of the sampler is not accounted.",
)

SEED_TRUST: Final = (
    "The seed was drawn at random among more numbers than can be tried, and is kept secret: "
    "whoever has it can repeat the run on any guess of the table, and nothing is then protected. "
    "The generator is not cryptographic: that the seed cannot be worked out from the synthetic "
    "values, or from the order of rows, is assumed. It was used for this table alone: runs on two "
    "tables under one seed share their random numbers, so their datasets are not independent, and "
    "their epsilons do not add up."
)
"""Of a release whose randomness is all of its seed's."""

CAVEATS: Final = {
    "leave-one-out": (
        "Neighbours are databases that differ by the deletion of one record; where one record "
        "is replaced instead, the same epsilon is not claimed: each figure doubles. Both are under "
        "epsilon_by_neighbours."
    ),
    "estimated": (
        "The Lipschitz bound is estimated from {draws} draws of an approximate sampler "
        "on this database alone; the guarantee holds asymptotically in the number of records, "
        "not strictly."
    ),
    "enforced": (
        "Every record's term is clamped at half of epsilon_per_dataset, at any parameters and for "
        "any data, so epsilon is not estimated. It is that of exact draws from the posterior, each "
        "independent of the others; the sampler is approximate, and how near it comes is not "
        "accounted."
    ),
    "weights": (
        "The weights are computed from the whole confidential database and from fits to it; "
        "the method treats them as given, and their own disclosure is not accounted."
    ),
    "composition": (
        "Each synthetic dataset spends epsilon_per_dataset; together they spend epsilon_total."
    ),
    "other-releases": (
        "Other releases of the same records cost epsilon of their own, which adds to this one's; "
        "they are not known here."
    ),
    "figures": (
        "The bound, its growth and epsilon, and what is said of fits, of convergence and of a "
        "missed target, are computed from the confidential data; epsilon does not cover what they "
        "tell of it."
    ),
    "convergence": (
        "Whether a caveat on convergence stands here is decided by fits to the confidential data; "
        "epsilon does not cover what that tells of it."
    ),
    "converged": (
        "A run that its sampler cannot finish, or whose chains fail their diagnostics, stops and "
        "releases nothing. That this one did "
        "not, and how often it was tried, is decided with the confidential data; epsilon does not "
        "cover what that tells of them."
    ),
    "accepts-unconverged": (
        "The settings accept chains that fail their diagnostics, so no guarantee is claimed, "
        "whether these failed them or not."
    ),
    "domain": (
        "The guarantee is for tables that the settings admit: at least 2 records, none with a "
        "missing value, outcomes that the model takes on its scale, range or levels, and no column "
        "released unchanged that is found to equal the outcome. Any other table is refused."
    ),
    "short-seed": (
        "The seed of this run is short enough to be found by trial, from the synthetic values "
        "alone. Whoever finds it can repeat the run on any guess of the table, and nothing is then "
        "protected. For a release leave the seed to pyvws synthesize, or draw 63 bits at random."
    ),
    "rounded-figures": "Figures here are rounded up to one decimal, each on its own.",
    "records": "The number of records is released, and no guarantee covers it.",
    "public-records": (
        "The number of rows was named in the settings, as public; it is not taken from the table."
    ),
    "noisy-records": (
        "The number of rows is the number of records with exact discrete Laplace noise, which the "
        "ledger counts, and at least 1."
    ),
    "certified-for-replacement": (
        "The guarantee is for two tables of this number of records, of which one record is "
        "replaced by any other: the figures under certified. Leave-one-out neighbours differ in "
        "the number of records, which is released; their figure is that of the draws alone."
    ),
    "certified-for-deletion": (
        "The guarantee is for two tables of which one has one record more: the figures under "
        "certified. What the number of rows tells of the number of records is within them."
    ),
    "prepared": (
        "The model took its levels from the whole outcome, so other records have a part in each "
        "record's term; that is not accounted."
    ),
    "growth": (
        "Over random halves of the draws the bound is lower by about bound_growth_per_doubling: "
        "with more draws it would still rise."
    ),
    "unchanged": (
        "The columns under columns_released_unchanged are the confidential table's own, each "
        "record's values in one row; the guarantee covers the synthesized outcome given them and "
        "does not protect them."
    ),
    "kept-order": (
        "Rows stand in the order of the confidential table, which was treated as public: of "
        "records that were sorted, a row's place tells what they were sorted by. No guarantee "
        "covers it."
    ),
    "searched": (
        "A tuning constant was searched over several fits to the confidential data until "
        "the bound met its target; the search is not accounted."
    ),
    "confirmed": (
        "After the weights were chosen they were fitted once more, from a fresh seed and with "
        "several times the draws. The bound is the larger one of the two fits, and the synthetic "
        "datasets come from the longer one. Had it exceeded the target, other weights would have "
        "been tried or nothing released, unless the agency accepts a larger figure. Still more "
        "draws may give more."
    ),
    "chosen": (
        "The bound is that of the fit at which the search ended. Such a fit is often one whose "
        "largest draw is low, so fresh draws under the same weights may give more."
    ),
    "unweighted": (
        "No record is downweighted, so no guarantee is claimed; the bound only describes "
        "these draws."
    ),
    "scalar": (
        "One weight for all records downweights every record at any number of records, "
        "while the asymptotic result asks that downweighting become sparse."
    ),
    "above-target": (
        "The truncation aimed at a smaller epsilon than the refit reached, which the agency "
        "accepted; the figures are those of the refit."
    ),
    "own-program": (
        "The model is a Stan program of the agency's own, and what is bounded is the log_lik that "
        "it writes; at some of its draws its target was seen to move with the weights by just "
        "that. What it takes from the data elsewhere, as for a prior or a parameter's limits, is "
        "neither bounded nor checked."
    ),
    "unchecked-program": (
        "The model is a Stan program of the agency's own, and what is bounded is the log_lik that "
        "it writes; that its target moves with the weights by just that was not checked. What it "
        "takes from the data elsewhere, as for a prior or a parameter's limits, is neither bounded "
        "nor checked."
    ),
    "reads-outcome": (
        "Each synthetic value is drawn given the record's own confidential outcome as well "
        "as the posterior draw, so no guarantee is claimed and epsilon describes the draw "
        "alone."
    ),
    "threshold": (
        "The bound is the {threshold} quantile of the draws' maxima, which is "
        "optimistic, so no guarantee is claimed."
    ),
    "rounded": "The confidential outcome was rounded to whole numbers before modelling.",
    "problems": "Convergence diagnostics fell short, so the bound may be understated; {problems}",
    "problems-of-draws": (
        "Convergence diagnostics fell short, so the draws may not be those of the posterior that "
        "the guarantee is about; {problems}"
    ),
    # Of a family
    "unit-identity": (
        "Densities are of the outcome in its own unit: in another unit the same records have "
        "another Lipschitz bound and another epsilon."
    ),
    "unit-log": (
        "Densities are of the outcome's logarithm, so the Lipschitz bound does not depend on the "
        "outcome's unit."
    ),
    "unit-signed-log": (
        "Densities are of sign(y) log(1 + |y|): for an outcome y in another unit the same records "
        "have another Lipschitz bound and another epsilon."
    ),
    "no-upper-limit": (
        "A log density has no upper limit, so the Lipschitz bound describes the draws that were "
        "made and not every parameter value."
    ),
    "smallest-sd": (
        "No component has a standard deviation under {smallest_sd:g} on the outcome's "
        "scale, which limits log densities from above but not from below, so the Lipschitz "
        "bound describes the draws that were made and not every parameter value."
    ),
    "public-range": (
        "Densities are of the outcome's place in its public range, so the Lipschitz bound depends "
        "on that range and not on the outcome's unit; the range must not be read off the data."
    ),
    "squeezed": (
        "Every outcome was moved inwards by the share of its range that the setting squeeze names, "
        "whatever the data hold."
    ),
    "levels-from-data": (
        "The set of levels of the outcome is that of the data, released as it is."
    ),
    # Of a perturbed histogram
    "replaced": "Neighbours are databases that differ by the replacement of one record.",
    "left-out": (
        "Neighbours are databases that differ by the deletion of one record; where one record is "
        "replaced instead, epsilon doubles."
    ),
    "one-histogram": (
        "One noisy histogram makes all datasets: together they spend epsilon_total once."
    ),
    "bounded-outcome": (
        "The guarantee is for an outcome that surely lies in a range fixed without the data."
    ),
    "within-bins": (
        "Synthetic values are uniform within bins, and independent of every other column."
    ),
    "bins-from-records": (
        "The number of bins follows the number of records, so no figure is stated for "
        "neighbours of which one has a record less."
    ),
    "edges-from-data": (
        "The range comes from the data, and its ends are two records' values; no guarantee is "
        "claimed."
    ),
    "seeded-noise": (
        "Not for publication: the noise comes from a seeded generator, for comparison with R, "
        "so no guarantee is claimed."
    ),
    "outside-range": "Values outside the range, if any, were counted in the first or last bin.",
}
"""The words of each caveat of the package."""

USES: Final = {
    "risks": "identification risks, for the weights",
    "fit": "fit {label!r}",
    "datasets": "1 synthetic dataset, one posterior draw each",
    "rows": "the number of rows, the number of records with noise",
    "histogram": "one noisy histogram, for all datasets",
}
"""The words of each entry of the ledger."""

_SEVERAL: Final = {
    "fit": "fit {label!r}, {number} times",
    "datasets": "{number} synthetic datasets, one posterior draw each",
}
"""The words where `number` is above 1."""


def caveat(said: Phrase) -> str:
    """The sentence of a caveat; without figures of its own, diagnostics are the agency's."""
    values = {"problems": "the agency has the figures.", **said.values}
    return said.words or CAVEATS[said.key].format(**values)


def use(said: Phrase) -> str:
    """The words of an entry of the ledger."""
    words = _SEVERAL if said.values.get("number", 1) > 1 else USES
    return words[said.key].format(**said.values)


def caveat_keys(privacy: Mapping[str, Any]) -> list[str]:
    """The key of each caveat of a statement; version 1 wrote their sentences alone."""
    if "caveat_keys" in privacy:
        return [said["key"] for said in privacy["caveat_keys"]]
    forms = {key: re.sub(r"\\\{.*?\\\}", ".*", re.escape(words)) for key, words in CAVEATS.items()}
    return [
        next((key for key, form in forms.items() if re.fullmatch(form, said)), "own")
        for said in privacy["caveats"]
    ]
