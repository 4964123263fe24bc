"""pyvws verify: whether a regression on synthetic data agrees with the confidential table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands.output import AsJson, Quiet, tell


def verify(
    folder: Annotated[
        Path, typer.Argument(help="A run's folder, with release/ and confidential/.")
    ],
    formula: Annotated[str, typer.Option(help='The regression, such as "income ~ age".')],
    within: Annotated[
        str,
        typer.Option(
            help="Tolerance: outcome per unit of the predictor, or a share of the datasets' "
            "estimate, such as 10%.",
            metavar="N|N%",
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="What the answer may cost.")],
    original: Annotated[
        Path | None,
        typer.Option(help="The confidential table that the run read; the first question names it."),
    ] = None,
    most_epsilon: Annotated[
        float | None,
        typer.Option(help="What all answers may cost together; the first question sets it."),
    ] = None,
    coefficient: Annotated[
        str | None,
        typer.Option(help="The coefficient, where there are several besides the intercept."),
    ] = None,
    parts: Annotated[int, typer.Option(help="Number of parts, 20 to 30.")] = 30,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say whether a coefficient on the datasets is near the confidential one, for an epsilon.

    The answer is yes, no or cannot tell, and is differentially private. Each question is about one
    coefficient, at its own price. The units of the table fall to parts by secret coins. The same
    regression is fitted in each part, and the number of parts that agree is told with noise. Where
    public figures say that no answer could tell, nothing is asked and nothing spent.

    The answer's statement goes to FOLDER/verified/, where pyvws ledger and --after find its cost.
    The budget stands in confidential/verification.json.

    Example: pyvws verify out/ --formula "income ~ age" --within 10% --epsilon 0.5 --original
    people.csv --most-epsilon 2
    """
    from pyvws.release.verification import verify as verified

    found = verified(
        folder,
        formula,
        within=within,
        epsilon=epsilon,
        original=original,
        most_epsilon=most_epsilon,
        coefficient=coefficient,
        parts=parts,
    )
    tell(found.sheet, quiet=quiet, as_json=as_json)
