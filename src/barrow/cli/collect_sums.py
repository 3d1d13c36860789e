"""``barrow collect aggregate``: one aggregator of a secure sum, by files or as a service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli.collect_keys import KEYS
from barrow.cli.numbers import Whole
from barrow.cli.terminal import Printer, echo, output_options
from barrow.collect.aggregator import Aggregator
from barrow.collect.card import Card, read_card
from barrow.collect.issuer import Invitations, Issuer
from barrow.collect.keys import key_file, read_key, unb64
from barrow.collect.operating import operator_secret
from barrow.collect.posting import post_bytes
from barrow.collect.share_store import ShareStore
from barrow.collect.sum_exchange import add_files, exchange, write_sums
from barrow.collect.sum_service import HELPER_GRACE, HelperService, LeaderService, Wire, Worker, status_of
from barrow.collect.sum_task import SumTask, read_verify_key, role_index, role_name, sum_task
from barrow.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., Any])
HOST = click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
RATE = click.option(
    "--rate",
    type=Whole(0, 10**9),
    default=600,
    show_default=True,
    help="Requests a minute from one address; 0 behind a proxy that limits.",
)
OPERATOR = click.option(
    "--operator",
    type=click.Path(),
    metavar="FILE",
    help="The file with the secret that opens /status and /metrics; made if it does not exist.",
)


def serving_options(command: Command) -> Command:
    """Where a service listens, how much it takes, who may look at it, and its keys."""
    return HOST(RATE(OPERATOR(KEYS(command))))


class _Party:
    """The aggregator that runs here."""

    def __init__(self, card: Card, role: str, store: str | None, keys: str) -> None:
        self.card, self.task, self.keys = card, sum_task(card), keys
        self.index = role_index(role, self.task.prio3.aggregators)
        self.store = store or f"{role}.db"
        self.key: Any = read_key(key_file(keys, "aggregator", self.task.keys[self.index]), "aggregator")
        self.verify_key = read_verify_key(keys, self.task.verify)

    def aggregator(self) -> Aggregator:
        """With a connection to its store of its own."""
        store, late = ShareStore(self.store, self.task.card, self.index), HELPER_GRACE if self.index else 0
        return Aggregator(self.task, self.index, store, self.key, self.verify_key, grace=late)

    def worker(self, helpers: Sequence[str]) -> Worker:
        """The leader's wire to its helpers."""
        return Worker(self.aggregator(), helpers, self.verify_key, post_bytes)


@click.command(short_help="Run one aggregator of a secure sum, by files or as a service.")
@click.argument("card_file", metavar="CARD", type=click.Path())
@click.argument("shares", nargs=-1, type=click.Path())
@click.option("--role", required=True, metavar="ROLE", help="leader or helper; helper2 … where there are more.")
@click.option("--store", type=click.Path(), help="Where it keeps everything; ROLE.db by default.")
@click.option(
    "--exchange", "folder", type=click.Path(), help="The folder in which aggregators leave files for each other."
)
@click.option("--close", is_flag=True, help="Take no more reports, add this aggregator's noise, and write its share.")
@click.option("--fewest", type=Whole(0, 10**9), help="Close with this few reports; 100 or a tenth of all by default.")
@click.option("--leave-out", is_flag=True, help="Close even if other aggregators have not confirmed some reports.")
@click.option("--serve", is_flag=True, help="Run as a service: the leader takes reports, helpers answer the leader.")
@click.option("--helper", "helpers", multiple=True, metavar="URL", help="Where each helper serves, in order (leader).")
@click.option("--port", type=Whole(0, 65535), help="8702 for the leader, 8703 for the helper, and so on.")
@serving_options
@output_options
def aggregate(
    card_file: str, shares: tuple[str, ...], role: str, store: str | None, folder: str | None, close: bool,
    fewest: int | None, leave_out: bool, serve: bool, helpers: tuple[str, ...], port: int | None, host: str, rate: int,
    operator: str | None, keys: str, output: Printer
) -> None:  # fmt: skip
    """Take SHARES (files that people wrote for this aggregator), check them with the others, add up, close.

    Run it again whenever files came; it goes on where it stopped. Whoever runs all aggregators could see every answer.

    \b
    Example:
      barrow collect aggregate card.json shares/*.leader \\
        --role leader --exchange meet
      barrow collect aggregate card.json --role leader --exchange meet --close
      barrow collect aggregate card.json --role helper --serve
      barrow collect aggregate card.json --role leader --serve \\
        --helper https://helper.example.org
      barrow collect aggregate card.json --role leader --close \\
        --helper https://helper.example.org --exchange sums
    """  # noqa: D301  (click reads the backspace)
    card = read_card(Path(card_file))
    party = _Party(card, role, store, keys)
    if serve:
        if shares or close or folder is not None:
            raise ParameterError(
                "A service takes no files and closes by another command.", allowed="--serve alone, with --helper",
                fix=f"barrow collect aggregate {card_file} --role {role} --close --helper URL --exchange sums",
            )  # fmt: skip
        card.check_time()
        secret = None if operator is None else operator_secret(operator)
        _serve(party, helpers, fewest, host=host, port=8702 + party.index if port is None else port, rate=rate,
               operator=secret)  # fmt: skip
        return
    if folder is None:
        raise ParameterError(
            "No folder is named in which aggregators leave files for each other.", allowed="a folder that all can read",
            fix="--exchange meet",
        )  # fmt: skip
    aggregator = party.aggregator()
    told: dict[str, Any] = {"role": role, "taken": add_files(aggregator, shares)}
    if helpers:
        if not close:
            raise ParameterError(
                "--helper is given without --serve or --close.", allowed="--serve or --close with --helper",
                fix="--close",
            )  # fmt: skip
        line = write_sums(folder, party.worker(helpers).close(fewest=fewest))
    else:
        line = exchange(aggregator, folder, close=close, fewest=fewest, leave_out=leave_out)
    told |= {**status_of(aggregator), "state": line}
    taken = ", ".join(f"{number:,} {name}" for name, number in told["taken"].items())
    refused = ", ".join(f"{number:,} {name}" for name, number in told["refused"].items())
    lines = [*([f"Files: {taken}."] if taken else []), line, *([f"Refused so far: {refused}."] if refused else [])]
    output.tell(told, None, *lines)


def _serve(
    party: _Party, helpers: Sequence[str], fewest: int | None, *, host: str, port: int, rate: int, operator: str | None
) -> None:
    """Serve until it is stopped."""
    from barrow.collect.web import run

    task, card, aggregator = party.task, party.card, party.aggregator()
    name = role_name(party.index)
    stop = threading.Event()
    if party.index:
        wire = Wire(task, party.verify_key, party.index)
        app = HelperService(aggregator, wire, fewest=fewest, rate=0, operator=operator).app()
    else:
        worker = party.worker(helpers)
        app = LeaderService(aggregator, card.data, issuer=_issuer(party, task), rate=rate, operator=operator).app()
        threading.Thread(target=worker.run, args=[stop], daemon=True).start()
    run(app, host=host, port=port, ready=lambda address: echo(f"The {name} of {card.name} at {address}", err=True))
    stop.set()


def _issuer(party: _Party, task: SumTask) -> Issuer | None:
    """Who signs tokens, where the issuer's key is among the leader's."""
    if party.card.counted != "tokens":
        return None
    place = key_file(party.keys, "issuer", unb64(party.card.admission["key"]))
    if not place.exists():
        return None
    invitations = Invitations(Path(party.keys) / f"invitations-{task.card[7:23]}.db", task.card)
    return Issuer(party.card, read_key(place, "issuer"), invitations)
