"""``barrow choose``: promises in plain words to alpha."""

from __future__ import annotations

import sys
from fractions import Fraction

import click
from rich.table import Table

from barrow.cli.numbers import Whole
from barrow.cli.screen import Screen
from barrow.cli.terminal import Printer, echo, echo_alarm, output_options_with
from barrow.errors import ParameterError
from barrow.numerics import exact, float_up
from barrow.promises import CAP, Policy, Promise, alarm, describe_distance, odds_sentence, odds_upper, percent_up
from barrow.spaces import Space, parse_space, units_of
from barrow.study import Study, read_study, write_study


@click.command()
@click.option("--space", "space_text", metavar="SPACE", help="earth, 'earth(cell=10)', …, or a study file.")
@click.option("--promise", "promises", multiple=True, metavar="'SHARE, DISTANCE, EPSILON'", help="May be repeated.")
@click.option(
    "--delta", default="0", show_default=True, help="How much a guess may gain beyond the promises, e.g. 1e-9."
)
@click.option("--users", type=Whole(), help="How many people the data are about (public).")
@click.option("--dataset", help="A public name of the data set, for the study file.")
@click.option("--save", type=click.Path(dir_okay=False), help="Write a study file.")
@output_options_with("Print alpha only.")
def choose(
    space_text: str | None,
    promises: tuple[str, ...],
    delta: str,
    users: int | None,
    dataset: str | None,
    save: str | None,
    output: Printer,
) -> None:
    """Turn promises in plain words into alpha.

    A promise says: if SHARE of a person's data had been DISTANCE elsewhere, nobody can tell beyond EPSILON.
    Without options, barrow asks for each of them.

    \b
    Example:
      barrow choose --space earth --delta 1e-12 \\
        --promise "1 day of 30, 1000 mi, eps 0.2" \\
        --promise "all, 100 mi, eps 0.2" --save study.toml
    """  # noqa: D301  (click reads the backspace)
    if not promises or space_text is None:
        if output.silent or not sys.stdin.isatty():
            raise ParameterError(
                "No space or no promise is given.",
                allowed="--space and at least one --promise",
                fix='barrow choose --space earth --promise "1/30, 1000 mi, 0.2"',
            )
        space_text, promises, delta = _ask(space_text, promises, delta)
    space = _space(space_text)
    policy = Policy(space, promises, delta=delta)
    if users is not None and users < 1:
        raise ParameterError(f"users is {users}.", allowed="a whole number, 1 or more", fix="--users 100000")
    if save is not None:
        write_study(Study(space, policy.promises, delta=policy.delta, dataset=dataset, users=users), save)
    if output.silent:
        output.tell(policy.to_json() | {"users": users, "study": save}, f"{policy.alpha:.12g}")
    else:
        _show(policy, users, save)


def _space(text: str) -> Space:
    return read_study(text).space if text.endswith(".toml") else parse_space(text)


def _ask(space_text: str | None, promises: tuple[str, ...], delta: str) -> tuple[str, tuple[str, ...], str]:
    echo("What must stay hidden? Press Ctrl-C to stop; nothing is read and nothing is spent.", err=True)
    space_text = space_text or click.prompt("Where do items live (e.g. earth, line(low=0, high=100))", default="earth")
    space = _space(space_text)
    units = ", ".join(units_of(space)) or "a share of the largest distance"
    requests = list(promises)
    while True:
        share = click.prompt("Which share of a person's data might have been different", default="1 day of 30")
        distance = click.prompt(f"How far away might it have been ({units})")
        epsilon = click.prompt("Largest acceptable epsilon (0.2: a 50 % guess becomes at most 55 %)", default="0.2")
        Policy(space, [Promise(share, distance, epsilon)])
        requests.append(f"{share}, {distance}, {epsilon}")
        if not click.confirm("Another promise?", default=False):
            break
    delta = click.prompt("Delta, how much a guess may gain beyond the promises (0 for nothing)", default=delta)
    return space_text, tuple(requests), delta


def _show(policy: Policy, users: int | None, save: str | None) -> None:
    console = Screen()
    table = Table(box=None, pad_edge=False)
    for name in ("share", "moved by", "EMD", "asked ε", "got ε", "50 % grows to", ""):
        table.add_column(name, justify="left" if name in ("share", "") else "right", no_wrap=True)
    for satisfied in policy.satisfied:
        table.add_row(
            "all data" if satisfied.promise.share == 1 else satisfied.promise.share_text,
            describe_distance(satisfied.promise, policy.space),
            f"{float(satisfied.emd):.3g}",
            f"{float(satisfied.promise.epsilon):.3g}",
            f"{satisfied.epsilon_got:.3g}",
            f"≤ {percent_up(odds_upper(satisfied.epsilon_got, float_up(policy.delta)))}",
            "← decides" if satisfied.binds else "",
        )
    console.print(table)
    space = policy.space
    unit = f"per {space.diameter:,.1f} {space.unit}" if space.unit else "per largest distance"
    console.print(f"\nα = {policy.alpha:.4g} {unit}")
    if rates := ", ".join(f"{eps:.3g} per {name}" for name, eps in policy.per_unit()):
        console.print(f"    i.e. ε = {rates} of the average move")
    console.print(f"δ = {float(policy.delta):.3g}{_delta_advice(policy.delta, users)}")
    if space.snapping_upper:
        moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
        console.print(f"Snapping to the grid moves a record by at most {moved}; α allows for it.")
    hidden = f"that there are {users:,} people" if users else "how many people there are"
    console.print(f"\nNot hidden: {hidden}.")
    console.print(
        f"Worst case, all data of a person as far away as possible: ε = {policy.worst_epsilon:.3g}. "
        f"{odds_sentence(policy.worst_epsilon, float_up(policy.delta))}"
    )
    if problem := alarm(policy.worst_epsilon, float_up(policy.delta)):
        echo_alarm(problem)
    elif policy.worst_epsilon > 1:
        console.print(f'Add --promise "{CAP}" to cap this.')
    if save:
        console.print(f"Wrote {save}.")


def _delta_advice(delta: Fraction, users: int | None) -> str:
    if delta == 0:
        return "   (pure: Laplace noise is enough; Gaussian noise and shuffling need δ > 0)"
    if users and delta * users >= exact("0.01"):
        return f"   (large for {users:,} people: keep it far below 1/n)"
    return "   (keep it far below 1/n for n people)"
