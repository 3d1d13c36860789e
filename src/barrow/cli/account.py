"""``barrow account``: the largest safe alpha0 of an item randomiser, by method."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import click
from rich.table import Table

from barrow.accounting import calibrate_shuffle
from barrow.accounting.blanket import parse_randomiser
from barrow.accounting.calibrate import PaperNote, paper_note, reports_of
from barrow.accounting.sampling import inner_alpha_for
from barrow.cli.numbers import Whole
from barrow.cli.screen import Screen
from barrow.cli.terminal import Printer, columns, echo, echo_json, output_options
from barrow.errors import ParameterError

if TYPE_CHECKING:
    from barrow.accounting.calibrate import Calibration, PaperNote


@click.command(
    epilog="Examples:  barrow account --alpha 25 --delta 1e-12 --users 100000 --items 1000 --model central;  "
    "users of any size: barrow account --alpha 25 --delta 1e-12 --users 100000 --unbounded --samples 1000",
)
@click.option("--alpha", required=True, help="Target alpha: privacy loss per unit of earth mover's distance.")
@click.option("--delta", required=True, help="Target delta; with 0 only pure composition applies.")
@click.option("--items", type=Whole(), default=None, help="m, the public number of items of one user.")
@click.option("--unbounded", is_flag=True, help="Users hold any number of items, of which --samples are drawn.")
@click.option("--samples", type=Whole(), default=None, help="s, items drawn from each user; in place of --items.")
@click.option("--users", type=Whole(), default=None, help="n, the public number of users (not in the local model).")
@click.option(
    "--model",
    type=click.Choice(["local", "shuffle", "central"]),
    default="central",
    show_default=True,
    help="Whose reports are shuffled together: one user's (local) or everybody's.",
)
@click.option("--least-distance", default=None, help="d_min, the least distance of two items, where it is known.")
@click.option(
    "--randomiser",
    default=None,
    help="A known randomiser, krr:K or gkrr:SxT:R (S clusters of T items, R apart): its blanket may allow more.",
)
@output_options
def account(
    alpha: str,
    delta: str,
    items: int | None,
    unbounded: bool,
    samples: int | None,
    users: int | None,
    model: str,
    least_distance: str | None,
    randomiser: str | None,
    output: Printer,
) -> None:
    """Compute the largest safe alpha0 of a shuffled release, by each method.

    Each item goes through an alpha0-d_X-DP randomiser and the reports are released as a multiset. The answer is the
    largest alpha0 for which that is (alpha, delta)-EMD-DP, at every distance, with what no method can exceed. With
    --unbounded --samples S the same for users of any size, from each of whom S items are drawn with replacement.
    """
    count = _count(items, samples, unbounded)

    if model == "local" and users is not None:
        raise ParameterError(
            "The local model shuffles the reports of one user, so --users says nothing.",
            allowed="--items or --samples alone",
            fix="drop --users, or say --model central",
        )
    reports = reports_of(model, items=count, users=users)
    known = None if randomiser is None else parse_randomiser(randomiser)
    # The attack behind the limit chooses the items of one user, which samples do not let it do.
    inner = Fraction(inner_alpha_for(alpha, count)) if unbounded else None
    result = calibrate_shuffle(
        alpha if inner is None else inner,
        delta,
        reports=reports,
        items=count,
        least_distance=least_distance,
        randomiser=known,
        limit=not unbounded,
    )
    paper = PaperNote(None, None, ()) if unbounded else paper_note(result, alpha, delta, users=users or 1, items=count)
    if output.as_json:
        more = {} if inner is None else {"samples": count, "inner_alpha": float(inner)}
        echo_json(result.to_json() | {"reports": reports, "paper": paper.to_json()} | more)
        return
    if output.quiet:
        echo(f"{result.alpha0:.12g}")
        return
    if inner is not None:
        echo(
            f"{count:,} items are drawn from each user, so users may hold any number: the release on the samples may "
            f"have alpha = {_digits(float(inner))} (bounded), which is alpha = {alpha} (unbounded)."
        )
    _print(result, paper, reports)


def _count(items: int | None, samples: int | None, unbounded: bool) -> int:
    """How many items of a user are reported: all m of them, or s samples."""
    given = samples if unbounded else items
    if given is None or (samples if not unbounded else items) is not None:
        raise ParameterError(
            f"--items is {items}, --samples is {samples}, and users are {'unbounded' if unbounded else 'bounded'}.",
            allowed="--items M (all users hold M items), or --unbounded --samples S (S items are drawn from each)",
            fix="--items 1000, or --unbounded --samples 1000",
        )
    return given


_WORDS = {
    "per_report_composition": "composition, alpha/m (pure)",
    "theorem": "the paper's Theorem 4.4, safely inverted",
    "flow_standard": "flow, standard clones",
    "flow_strong": "flow, stronger clones",
    "blanket": "flow, the randomiser's own blanket",
}


def _digits(value: float | None, missing: str = "does not apply", *, up: bool = False) -> str:
    """Six significant digits, cut and not rounded, so that what is printed may be typed; a limit is rounded up."""
    if value is None:
        return missing
    context = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{context.create_decimal(Decimal(repr(value))).normalize():g}"


def _print(calibration: Calibration, paper: PaperNote, reports: int) -> None:
    echo(f"Largest safe alpha0, {reports:,} reports in the shuffle")
    table = Table(box=None, pad_edge=False)
    table.add_column("method")
    table.add_column("alpha0", justify="right")
    table.add_column("")
    for name, words in _WORDS.items():
        if name not in calibration.methods:
            continue
        value = calibration.composition if name == "per_report_composition" else calibration.methods[name]
        mark = "<- use this" if name == calibration.method else ""
        table.add_row(words, _digits(None if value is None else float(value)), mark)
    if calibration.limit_black_box is not None:
        table.add_row(
            "an attack breaks the promise from",
            _digits(calibration.limit_black_box, up=True),
            "limit of any black-box method",
        )
        table.add_row("the paper's closed formula", _digits(paper.closed_formula), "do not use")
        table.add_row("the paper's theorem at w = 1 only", _digits(paper.theorem_at_w_one), "do not use")
    Screen(width=columns()).print(table)
    for warning in paper.warnings:
        echo(f"Warning: {warning}")
    if calibration.method == "per_report_composition":
        echo("Nothing better than composition can be certified for these numbers.")
