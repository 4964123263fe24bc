"""Easy mistakes in what is read of a fit that was made elsewhere."""

from typing import Any

import numpy as np

READ = "pyvws_validation.cases.releases:"
FITS = "pyvws.synthesis.existing_fit:"


def chains_reversed(function: Any) -> Any:
    return lambda files: function(files[::-1])


def first_chain_alone(function: Any) -> Any:
    return lambda files: function(files[:1])


def draw_by_draw(function: Any) -> Any:
    """The first draw of each chain, then the second of each."""

    def read(terms: Any, chains: int, kind: str) -> Any:
        found = function(terms, chains, kind)
        return found.reshape(chains, -1, found.shape[1]).swapaxes(0, 1).reshape(found.shape)

    return read


def weights_left_out(function: Any) -> Any:
    return lambda terms, weights, **options: function(
        terms, weights, **{**options, "log_lik": "weighted"}
    )


def weights_twice(function: Any) -> Any:
    return lambda terms, weights, **options: function(terms, weights**2, **options)


def weights_of_others(function: Any) -> Any:
    return lambda terms, weights, **options: function(terms, np.roll(weights, 1), **options)


FIT_MISTAKES = (
    (READ + "terms_of_files", FITS + "from_cmdstan_csv", chains_reversed),
    (READ + "terms_of_files", FITS + "from_cmdstan_csv", first_chain_alone),
    (READ + "terms_of_files", READ + "terms_of_files", draw_by_draw),
    (READ + "weighted_terms", FITS + "from_log_lik", weights_left_out),
    (READ + "weighted_terms", FITS + "from_log_lik", weights_twice),
    (READ + "weighted_terms", FITS + "from_log_lik", weights_of_others),
)
