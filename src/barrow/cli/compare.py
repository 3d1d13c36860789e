"""``barrow compare``: every mechanism that can answer, and ordinary user-level DP beside them."""

from __future__ import annotations

import json
from typing import Any

import click

from barrow.cli.study_options import data_options, make_study, output_options, question_options
from barrow.errors import ParameterError


@click.command()
@data_options
@question_options
@click.option("--eps", "epsilons", multiple=True, help="An epsilon of user-level DP to compare with; may be repeated.")
@click.option("--held", type=int, help="How many items each person holds, where that is public and the same for all.")
@click.option("--reference", help="uniform, zipf or 'town and country': where decoded errors are predicted.")
@output_options
def compare(
    as_json: bool, quiet: bool, epsilons: tuple[str, ...], held: int | None, reference: str | None, **flags: Any
) -> None:
    """Show every mechanism that can answer, its predicted error, the choice, and user-level DP beside it.

    No data are read and nothing is spent. For a histogram the error is the earth mover's distance after decoding, for
    other questions the 95 % half width of each value.

    \b
    Example:
      barrow compare --space 'clustered(shape=[10, 10], r=0.05)' --query histogram --users 10000 --held 1000 \\
        --alpha 25 --delta 1e-9 --eps 1.25
    """  # noqa: D301  (click reads the backspace)
    from barrow.planning import compare as compare_mechanisms

    study = make_study(flags.pop("file"), **flags)
    if study.query is None:
        raise ParameterError("No question is asked.", allowed="a query", fix="--query histogram")
    if study.users is None:
        raise ParameterError(
            "It is not said how many people the data are about.",
            allowed="a public whole number: a comparison reads no data",
            fix="--users 100000",
        )
    spec = dict(study.query)
    items = held if held is not None else spec.get("items")
    if spec.get("kind") in ("items", "frequency", "histogram"):
        spec = {"kind": "histogram"}
    found = compare_mechanisms(
        study.space,
        spec,
        study.alpha_exact,
        study.delta,
        users=study.users,
        items=items,
        model=study.model.value,
        epsilons=epsilons,
        promises=study.policy if study.promises else None,
        reference=reference or study.query.get("reference", "auto"),
    )
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
    elif quiet:
        click.echo(found.choice.name)
    else:
        click.echo(str(found))
        click.echo("\nNothing was read and nothing was spent. Next: barrow plan with the same words.")
