"""``barrow ledger``: make, show, anchor, check and export a privacy budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from barrow.cli import work
from barrow.cli.approvers import accept, approver_options, change, freeze, known_ledger, quorum_of, unfreeze
from barrow.cli.files import write_new
from barrow.cli.numbers import Whole, counted
from barrow.cli.pages import page_options, write_page
from barrow.cli.screen import Screen
from barrow.cli.study_options import verbose_option
from barrow.cli.terminal import Printer, columns, echo, echo_json, echo_raw, fitting, output_options
from barrow.errors import ParameterError
from barrow.numerics import exact, exact_text, float_up
from barrow.render import report as pages

_FILE = click.argument("file")
_LEFT_OUT = ("folder", "key", "who", "δ", "paid by", "left")
"""Columns of the table that are left out where there is no room, in this order."""


@click.group()
def ledger() -> None:
    """Create and read the ledger: what a data set may spend, and has spent.

    Example:  barrow ledger show nyc.ledger
    """


for _command in (accept, freeze, unfreeze, change):
    ledger.add_command(_command)


@ledger.command(short_help="Make the ledger of a study's data set.")
@_FILE
@click.option("--study", "study_file", required=True, type=click.Path(path_type=Path), help="The study file.")
@click.option("--alpha", help="The budget of (alpha, delta)-EMD-DP, e.g. 250 or 24.87 or 1/3.")
@click.option("--epsilon", help="Instead of --alpha, with --radius: the budget of discrete EMD-DP.")
@click.option("--radius", help="r of discrete EMD-DP, a share of the diameter.")
@click.option("--delta", default="0", show_default=True, help="The budget of delta.")
@click.option("--dataset", help="The data set's name; by default the study's.")
@click.option("--users", type=Whole(), help="n, the public number of users; by default the study's.")
@click.option("--model", help="local, shuffle or central; by default the study's.")
@click.option("--bounded", type=Whole(), metavar="M", help="Bounded EMD-DP for users of M items each.")
@click.option(
    "--composition",
    type=click.Choice(["additive", "quadrature"]),
    help="How releases add up; quadrature suits many small ones and needs delta above 0.  [default: additive]",
)
@click.option("--quadrature", help="The share of every promise that is kept for quadrature.  [default: all]")
@click.option(
    "--releases", type=Whole(), help="How many releases are planned; several with a delta add up in quadrature."
)
@click.option(
    "--user-epsilon", help="A separate user-level budget for other spaces and definitions; by default the study's."
)
@click.option("--user-delta", default="0", show_default=True, help="The delta of that budget.")
@click.option("--anchor", type=click.Path(path_type=Path), help="Keep the newest head in this file as well.")
@click.option("--tighten", is_flag=True, help="Add the study's promises to the ledger; this cannot be undone.")
@approver_options
@output_options
def init(
    file: str,
    anchor: Path | None,
    tighten: bool,
    approvers: tuple[str, ...],
    need: int | None,
    output: Printer,
    **options: Any,
) -> None:
    """Make the ledger FILE (or postgresql://…?ledger=NAME) of the study's data set, or join it if there is one.

    It holds the budget: the study's promises, or --alpha for one space, or --epsilon with --radius.

    Example:  barrow ledger init nyc.ledger --study study.toml --anchor /media/usb/nyc.anchor
    """
    budget, approval = _budget(**options), quorum_of(approvers, need)
    known = work.Ledger.exists(file)
    if budget.promises:
        ledger = work.Ledger.join(file, budget, tighten=tighten, anchor=anchor, approval=approval)
    else:
        ledger = work.Ledger.create(file, budget, anchor=anchor, approval=approval)
    data = {"ledger": file, "budget": ledger.budget.to_json(), "head": _head(ledger.head())}
    shown = ledger.overview()
    output.tell(data, None, f"{'Joined' if known else 'Made'} {file}.", shown.title, *shown.sentences())


@ledger.command(short_help="Show what was spent and what is left.")
@known_ledger
@click.option("--who", is_flag=True, help="Show what each analyst spent.")
@click.option("--by-question", is_flag=True, help="Show what each question cost.")
@click.option("--csv", "as_csv", is_flag=True, help="Print one line for each payment, for spreadsheets.")
@verbose_option
@page_options
@output_options
def show(
    file: str,
    verbose: bool,
    who: bool,
    by_question: bool,
    as_csv: bool,
    html: str | None,
    opened: bool,
    output: Printer,
) -> None:
    """Show what was spent, when, on what, by whom, and what is left.

    Example:  barrow ledger show nyc.ledger --who
    """
    overview = work.Ledger.open(file).overview()
    wrote = write_page(lambda: pages.ledger_report(overview, ledger=file), html, opened, "ledger.html")
    if as_csv:
        echo_raw(overview.to_csv(), nl=False)
        return
    if output.quiet and not output.as_json:
        for balance in overview.balances:
            echo(exact_text(balance.left.loss))
        return
    if output.as_json:
        echo_json({"ledger": file, **overview.to_json()})
        return
    echo(overview.title)
    for sentence in overview.spent_by("who") if who else overview.spent_by("question") if by_question else ():
        echo(sentence)
    if who or by_question:
        return
    _print_table(overview, verbose)
    for sentence in overview.sentences():
        echo(sentence)
    if wrote is not None:
        echo(f"Wrote {wrote}.")


def _print_table(overview: work.Overview, verbose: bool) -> None:
    """One line for each payment, with the columns that fit; with ``--verbose`` all of them, however wide."""
    names, rows = overview.columns, overview.cells()
    some = list(range(len(names))) if verbose or not rows else fitting(names, rows, _LEFT_OUT, columns())
    table = Table(box=None, pad_edge=False)
    for i in some:
        table.add_column(names[i], justify="right" if names[i][0] in "#αεδ" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(row[i] for i in some))
    Screen(width=10_000 if verbose else columns()).print(table)
    if len(some) < len(names):
        left_out = ", ".join(names[i] for i in range(len(names)) if i not in some)
        echo(f"Left out here: {left_out} (--verbose shows all).")


@ledger.command(short_help="Print LENGTH:HASH, to be kept elsewhere, or publish it signed.")
@known_ledger
@click.option(
    "--publish", is_flag=True, help="Write the head, signed, for whoever checks a release without the ledger."
)
@click.option("--key", type=click.Path(), help="The owner's key, made by barrow key new.")
@click.option(
    "--out",
    "targets",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The file to write, or the folder of a release; may be repeated. [default: head.json]",
)
@output_options
def head(file: str, publish: bool, key: str | None, targets: tuple[Path, ...], output: Printer) -> None:
    """Print LENGTH:HASH. Keep it elsewhere: later, verify --head shows that nothing was cut off.

    With --publish, write it signed (barrow ledger head --publish --key owner.key --out release/map): barrow verify
    --signer checks a release against it, without the ledger.

    Example:  barrow ledger head nyc.ledger >> heads.txt
    """
    if publish != (key is not None) or (targets and not publish):
        raise ParameterError(
            "A head is published with the owner's key.",
            allowed="--publish with --key FILE, and --out; or neither",
            fix="barrow ledger head --publish --key owner.key",
        )
    ledger = work.Ledger.open(file)
    if key is None:
        newest = ledger.head()
        Printer(output.as_json).tell(_head(newest), None, str(newest))
        return
    signed = ledger.publish(key)
    files = [target / work.FILE if target.is_dir() else target for target in targets or (Path(work.FILE),)]
    for target in files:
        signed.write(target)
    written = [str(target) for target in files]
    told = {**_head(signed.head), "signer": signed.signer, "releases": len(signed.releases), "out": written}
    held = f"{counted(signed.head.length, 'record')} and {counted(len(signed.releases), 'release')}"
    words = f"{', '.join(written)}: the head of {held}."
    output.tell(told, None, words, f"Signed by {signed.signer}: tell others this fingerprint.")


@ledger.command(short_help="Keep the head in another place.")
@_FILE
@click.argument("target", type=click.Path(path_type=Path))
@output_options
def anchor(file: str, target: Path, output: Printer) -> None:
    """Write the head of the ledger into TARGET, on another disk, so that no older copy of the ledger can be spent from.

    Releases look for it where `init --anchor` or BARROW_LEDGER_ANCHOR says, and write each new head there.

    Example:  barrow ledger anchor nyc.ledger /media/usb/nyc.anchor
    """
    newest = work.Ledger.open(file).anchor(target)
    told = {"anchor": str(target), **_head(newest)}
    output.tell(told, None, f"{target} holds the head of {counted(newest.length, 'record')}.")


@ledger.command(short_help="Use a Postgres ledger again after a restore or a failover.")
@_FILE
@click.argument("target", type=click.Path(path_type=Path))
@output_options
def adopt(file: str, target: Path, output: Printer) -> None:
    """Use a ledger again on a Postgres server that was restored or took over, if it continues the anchor TARGET.

    Example:  barrow ledger adopt "postgresql://ana@db.example/stats?ledger=visits" visits.anchor
    """
    newest = work.Ledger.adopt(file, target).head()
    words = f"The ledger of {newest.length} records continues its anchor; it may be spent from again."
    output.tell({"adopted": True, **_head(newest)}, None, words)


@ledger.command(short_help="Check that nothing was changed or cut off.")
@known_ledger
@click.option("--head", "anchor", metavar="LENGTH:HASH", help="A head that was kept elsewhere.")
@output_options
def verify(file: str, anchor: str | None, output: Printer) -> None:
    """Check every link of the chain, every charge, and that an anchored head is part of it.

    Example:  barrow ledger verify nyc.ledger --head "$(tail -n 1 heads.txt)"
    """
    wanted = None if anchor is None else work.ChainHead.parse(anchor)
    result = work.Ledger.open(file).verify(wanted)
    lines = [
        f"All {result.head.length} records hold; {counted(result.releases, 'release')} paid, "
        f"{result.uncommitted} of them without a recorded result."
    ]
    if result.within_limits is None:
        lines.append("Not checked: the limits. Some releases were accepted under another way of adding up.")
    if wanted is None:
        lines.append("Not checked: whether records were cut off at the end. For that, give --head LENGTH:HASH.")
    else:
        lines.append(f"The anchored head of {wanted.length} records is part of the chain: nothing was cut off.")
    output.tell(result.to_json(), "holds", *lines)


@ledger.command(short_help="Print all records as JSON.")
@known_ledger
@click.option("--out", type=click.Path(path_type=Path), help="Write to this new file instead of the screen.")
@output_options
def export(file: str, out: Path | None, output: Printer) -> None:
    """Print the verified chain as one JSON object, enough to check it without barrow.

    Example:  barrow ledger export nyc.ledger --out nyc-ledger.json
    """
    text = json.dumps(work.Ledger.open(file).export(), indent=None if output.as_json else 1)
    if out is None:
        echo_raw(text)
        return
    write_new(out, [text.encode(), b"\n"], "--out another-file.json")
    output.tell({"out": str(out)}, None, f"Wrote {out}.")


@ledger.command("price", short_help="Compute the price of all releases together.")
@known_ledger
@click.option("--delta", help="The total delta; by default the budget's.")
@output_options
def price_anew(file: str, delta: str | None, output: Printer) -> None:
    """Price all releases of the main budget together, by every way of composing them. Spends nothing.

    "together" is the tightest, and holds for releases whose parameters were fixed beforehand; "additive" and
    "quadrature" hold however they were chosen.

    Example:  barrow ledger price nyc.ledger --delta 1e-9
    """
    ledger = work.Ledger.open(file)
    events = ledger.events()
    total = ledger.budget.limit.delta if delta is None else exact(delta, "delta")
    prices = work.price_together(events, total)
    data = {name: None if value is None else float_up(value) for name, value in prices.items()}
    lines = [f"{counted(len(events), 'release')} at a total delta of {float(total):g}:"]
    for name, value in data.items():
        lines.append(f"  {name:11} " + ("does not apply" if value is None else f"alpha {value:.6g}"))
    lines.append(
        "'together' holds if all parameters were fixed beforehand; the other rows hold however they were chosen."
    )
    told = {"ledger": file, "releases": len(events), "delta": float(total), "alpha": data}
    output.tell(told, "" if data["together"] is None else f"{data['together']:.12g}", *lines)


def _budget(
    *,
    study_file: Path,
    alpha: str | None,
    epsilon: str | None,
    radius: str | None,
    delta: str,
    dataset: str | None,
    users: int | None,
    model: str | None,
    bounded: int | None,
    user_epsilon: str | None,
    user_delta: str,
    composition: str | None,
    quadrature: str | None,
    releases: int | None,
) -> work.Budget:
    study = work.read_study(study_file)
    promised = bool(study.promises) and alpha is None and epsilon is None
    if not promised and ((alpha is None) == (epsilon is None) or (epsilon is None) != (radius is None)):
        raise ParameterError(
            "The budget has no single definition.",
            allowed="a study with promises, --alpha A (EMD-DP), or --epsilon E with --radius R (discrete EMD-DP)",
            fix="--alpha 25",
        )
    name = study.dataset if dataset is None else dataset
    n = study.users if users is None else users
    trust = study.model if model is None else model
    if name is None or n is None:
        raise ParameterError(
            "The study does not say which data set, or how many users, the budget is about.",
            allowed="a data set and a number of users in the study file or as options",
            fix="--dataset visits-2026-10 --users 1083",
        )
    about = work.SpaceRef.of(study.space, number=study.number)  # records, or one number a person
    if promised:
        limits = [work.PromiseLimit.of(promise, study.space) for promise in study.promises]
        total = study.delta if delta == "0" else exact(delta, "delta")
        if (
            composition is None
            and (quadrature is not None or (releases or 1) > 1 or study.composition == "quadrature")
            and total > 0
        ):
            composition = "quadrature"
        share = (quadrature or "1") if composition == "quadrature" else None
        promises = work.Promises(limits, total, model=trust, bounded=bounded is not None, quadrature=share)
        own = study.replace(dataset=name, users=n, model=trust).budget
        return work.Budget(name, n, about, promises, items=bounded, calendar=own.calendar, groups=own.groups)
    limit: work.Emd | work.DiscreteEmd
    if epsilon is not None and radius is not None:
        if bounded is not None:
            raise ParameterError(
                "Discrete EMD-DP is defined for users of any size.",
                allowed="--bounded with --alpha",
                fix="omit it",
            )
        limit = work.DiscreteEmd(epsilon, delta, radius=radius, model=trust)
    else:
        limit = work.Emd(alpha or "", delta, model=trust, bounded=bounded is not None)
    user_level = None
    if user_epsilon is None and study.user_level is not None:
        user_epsilon, user_delta = exact_text(study.user_level.epsilon), exact_text(study.user_level.delta)
    if user_epsilon is not None:
        user_level = work.UserLevel(user_epsilon, user_delta, model=trust, bounded=bounded is not None)
    return work.Budget(
        name, n, about, limit, items=bounded, user_level=user_level, composition=composition or "additive"
    )


def _head(newest: work.ChainHead) -> dict[str, Any]:
    return {"length": newest.length, "hash": newest.hash, "head": str(newest)}
