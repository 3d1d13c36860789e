"""``barrow collect``: a survey over the network, from the card to the release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import msgspec

from barrow.cli.collect_keys import KEYS, invite, keys, write_invitations
from barrow.cli.collect_sums import aggregate, serving_options
from barrow.cli.files import make_folder, refuse_existing
from barrow.cli.local import _lines, _show
from barrow.cli.numbers import Whole
from barrow.cli.propose import quorum_words, write_proposal
from barrow.cli.study_options import make_study
from barrow.cli.terminal import Printer, echo, output_options
from barrow.collect import Client
from barrow.collect.analyser import analyse as release_of
from barrow.collect.analyser import collect_reports, of_batch, of_reports, of_shares
from barrow.collect.card import make_card, planned_card, read_card
from barrow.collect.collector import Collector
from barrow.collect.issuer import Invitations, Issuer
from barrow.collect.keys import key_file, new_key, public_bytes, public_of, read_key, read_public, unb64, write_key
from barrow.collect.operating import operator_secret
from barrow.collect.shuffler import Shuffler, mix_and_forget, open_pool
from barrow.collect.stores import open_store
from barrow.collect.sum_task import new_verify_key, sum_task, verify_digest, write_verify_key
from barrow.collect.words import answered_by, card_text
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import MissingLedgerError
from barrow.spaces.product import columns_of
from barrow.study.proposal import propose_collected

_CARD = click.argument("card_file", metavar="CARD", type=click.Path())


@click.group()
def collect() -> None:
    """Collect over the network: cards, collector, shuffler, aggregators, analyser.

    Example:  barrow collect init study.toml --address https://reports.example.org
    """


collect.add_command(keys)
collect.add_command(invite)
collect.add_command(aggregate)


@collect.command(short_help="Write a signed card, and the keys that go with it.")
@click.argument("study_file", metavar="STUDY", type=click.Path())
@click.option("--question", "question", metavar="NAME", help="Which question; the only one by default.")
@click.option(
    "--address",
    required=True,
    metavar="URL",
    help="Where reports go; for shuffle and aggregated cards, where the issuer signs tokens.",
)
@click.option("--shuffler", metavar="URL", help="Where messages go (shuffle studies).")
@click.option("--attested", is_flag=True, help="No tokens: your front end signs what each person sends.")
@click.option(
    "--invitations",
    type=Whole(),
    default=0,
    metavar="N",
    help="How many invitations to write; one for each person by default.",
)
@click.option("--public", multiple=True, type=click.Path(), metavar="FILE", help="A party's public key, made by it.")
@click.option(
    "--aggregator",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="An aggregator's public key, made by it; the leader's first (aggregated studies).",
)
@click.option("--days", type=Whole(1, 36_500), default=90, show_default=True, help="How long the card is valid.")
@click.option("--out", default=".", show_default=True, type=click.Path(), help="The folder of the card.")
@KEYS
@output_options
def init(
    study_file: str, question: str | None, address: str, shuffler: str | None, attested: bool, invitations: int,
    public: tuple[str, ...], aggregator: tuple[str, ...], days: int, out: str, keys: str, output: Printer
) -> None:  # fmt: skip
    """Write a card for one question of STUDY, and the private keys (files 0600) of parties that gave no --public key.

    \b
    Example:
      barrow collect init study.toml --question mood \\
        --address https://reports.example.org
      barrow collect init study.toml --address … --shuffler … \\
        --public analyser-….public --public shuffler-….public
      barrow collect init study.toml --address … \\
        --aggregator leader/….public --aggregator helper/….public
    """  # noqa: D301  (click reads the backspace)
    study = make_study(study_file)
    shuffled = study.model.value == "shuffle"
    names = ["signer", *(["analyser", "shuffler"] if shuffled else []), "front" if attested else "issuer"]
    given = public_of(public, names[1:])
    built = {name: new_key(name) for name in names if name not in given}
    folder = Path(keys)
    known = (folder / "signer.key").exists()
    if known:  # one publisher signs many cards
        built["signer"] = read_key(folder / "signer.key", "signer")
    parties = {("mixer" if name == "shuffler" else name): key for name, key in {**built, **given}.items()}
    common = new_verify_key()
    if study.model.value == "aggregated":
        parties["aggregators"] = [read_public(file, "aggregator") for file in aggregator]
        parties["verify"] = verify_digest(common)
    card = make_card(study, question, address=address, shuffler=shuffler, days=days, **parties)
    if card.summed:
        sum_task(card)  # a report that no leader could take is refused before anything is written
    place = Path(out) / card.name
    make_folder(folder, 0o700)
    make_folder(Path(out), 0o755)
    written = {"verify": str(write_verify_key(folder, common))} if card.summed else {}
    for name, key in built.items():
        file = folder / "signer.key" if name == "signer" else key_file(folder, name, public_bytes(key))
        if not (name == "signer" and known):
            write_key(key, file)
        written[name] = str(file)
    place.write_text(card.text, encoding="utf-8")
    if "issuer" in built:
        written["invitations"] = str(write_invitations(folder, card.digest, invitations or card.people))
    told = {"card": str(place), "digest": card.digest, "keys": written, "browsers": card.everywhere}
    lines = [f"Wrote {place}, valid for {days} days.", *(f"  {name:12} {file}" for name, file in written.items())]
    lines += [f"Answered by: {answered_by(card)}.", f"Next: barrow collect card {place} --explain"]
    if "verify" in written:
        lines.append(f"Give every aggregator the card and a copy of {written['verify']}, and nobody else that file.")
    output.tell(told, str(place), *lines)


@collect.command(short_help="Check a card; say what leaves the phone.")
@_CARD
@click.option("--explain", "explained", is_flag=True, help="Say in plain words what leaves the phone.")
@output_options
def card(card_file: str, explained: bool, output: Printer) -> None:
    """Check a card: its signature, its time, and that its constants follow from its study.

    \b
    Example:
      barrow collect card card-0123456789abcdef.json --explain
    """  # noqa: D301  (click reads the backspace)
    result = read_card(Path(card_file))
    result.check_time()
    told = {"card": result.digest, "survey": planned_card(result).digest, "model": result.model,
            "people": result.people,
            "messages": result.messages, "epsilon": float(result.epsilon), "signer": result.signer,
            "browsers": result.everywhere}  # fmt: skip
    lines = [f"{result.name}: whole, signed, valid; a client can prove ε = {float(result.epsilon):.4g} a person."]
    lines += [f"Answered by: {answered_by(result)}.", f"Signed by {result.signer}"]
    output.tell(told, result.digest, *([card_text(result)] if explained else lines))


@collect.command(short_help="Answer a card as one person.")
@_CARD
@click.argument("items", required=False, type=click.Path())
@click.option("--memory", required=True, type=click.Path(), help="The file that remembers this person's answers.")
@click.option("--limit", help="The largest total ε of this person's answers; needed the first time.")
@click.option("--invitation", help="The code that lets this person take part.")
@click.option("--signer", help="The public key that must have signed the card.")
@click.option("--trust", metavar="ID", help="Accept the card's aggregators, trusting that they do not work together.")
@click.option("--out", type=click.Path(), help="Write one file for each aggregator to this folder; do not send.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "default", "nearest"]),
    default="error",
    show_default=True,
    help="What to do with items outside the space.",
)
@output_options
def answer(
    card_file: str, items: str | None, memory: str, limit: str | None, invitation: str | None, signer: str | None,
    trust: str | None, out: str | None, unknown: Any, output: Printer
) -> None:  # fmt: skip
    """Randomise one person's ITEMS (one JSON value a line) and send them; a failed report is sent again unchanged.

    \b
    Example:
      barrow collect answer card.json my_moods.jsonl --memory me.json --limit 10
      barrow collect answer card.json my_moods.jsonl --memory me.json \\
        --trust 0123456789abcdef --out shares
    """  # noqa: D301  (click reads the backspace)
    client = Client(card_file, memory=memory, limit=limit, signer=signer, trust=trust)
    records = columns_of(client.survey.study.space, _lines(items))
    if out is None:
        done: Any = client.send(records, unknown=unknown, invitation=invitation)
    else:
        done = client.write(out, records, unknown=unknown, invitation=invitation)
    budget = client.budget
    told = {"sent" if out is None else "files": done, "spent": float(budget.spent), "limit": float(budget.limit or 0)}
    told["in_shares"] = budget.shared
    lines = ["Sent." if out is None else "Wrote " + ", ".join(done) + "."]
    lines.append(f"Spent on all cards: ε = {told['spent']:.4g} of {told['limit']:.4g}.")
    if budget.shared:
        lines.append(
            f"Of these, {budget.shared:,} left in shares: the total holds only if their aggregators do not work "
            f"together."
        )
    output.tell(told, None, *lines)


@collect.command(short_help="Run the collector (local), or the issuer of tokens.")
@_CARD
@click.option("--store", default="reports.db", show_default=True, help="A file, or postgresql://…, for reports.")
@click.option("--port", type=Whole(0, 65535), default=8700, show_default=True, help="The port to listen on.")
@click.option("--demo", is_flag=True, help="Also serve a page (at /#invitation=CODE) with a form and the results.")
@serving_options
def serve(
    card_file: str, store: str, port: int, demo: bool, host: str, rate: int, operator: str | None, keys: str
) -> None:
    """Take reports of a local card; for other cards hand out the card and sign tokens.

    Put a TLS proxy in front that writes no log (deploy/nginx). Nothing here logs addresses or bodies.

    \b
    Example:
      barrow collect serve card.json --store postgresql://collector@db/reports
    """  # noqa: D301  (click reads the backspace)
    from barrow.collect.web import run

    result = read_card(Path(card_file))
    result.check_time()
    if demo and (result.shuffled or result.summed or not result.everywhere or result.counted != "tokens"):
        raise ParameterError(
            "The demo page cannot answer this card.", allowed="a local card with tokens that browsers can answer",
            fix=f"barrow collect card {card_file}: it says which clients can",
        )  # fmt: skip
    issuing, secret = result.counted == "tokens", None if operator is None else operator_secret(operator)
    key = read_key(key_file(keys, "issuer", unb64(result.admission["key"])), "issuer") if issuing else None
    invitations = Invitations(Path(keys) / f"invitations-{result.digest[7:23]}.db", result.digest) if issuing else None
    issuer = Issuer(result, key, invitations, rate=rate, operator=secret)
    if result.shuffled or result.summed:
        app = issuer.app()
    else:
        reports, signing = open_store(store, result.survey.digest), issuer if issuing else None
        app = Collector(result, reports, issuer=signing, rate=rate, demo=demo, operator=secret).app()
    run(app, host=host, port=port, ready=lambda address: echo(f"Serving {result.name} at {address}", err=True))


@collect.command(short_help="Run the shuffler, or mix the waiting messages once and delete them.")
@_CARD
@click.option("--store", default="pool.db", show_default=True, type=click.Path(), help="Where messages wait.")
@click.option(
    "--release",
    "out",
    type=click.Path(),
    help="Mix all messages into this new file, delete them here and close the card.",
)
@click.option("--port", type=Whole(0, 65535), default=8701, show_default=True, help="The port to listen on.")
@serving_options
@output_options
def shuffle(
    card_file: str, store: str, out: str | None, port: int, host: str, rate: int, operator: str | None, keys: str,
    output: Printer
) -> None:  # fmt: skip
    """Take sealed messages of a shuffle card; --release signs the mixed batch with the shuffler's key.

    Whoever runs this must not be the one who analyses.

    \b
    Example:
      barrow collect shuffle card.json --store pool.db
      barrow collect shuffle card.json --store pool.db --release march.batch
    """  # noqa: D301  (click reads the backspace)
    from barrow.collect.web import run

    result = read_card(Path(card_file))
    pool = open_pool(store, result)
    service = Shuffler(result, pool, rate=rate, operator=None if operator is None else operator_secret(operator))
    if out is None:
        result.check_time()
        told = f"Shuffling {result.name} at"
        run(service.app(), host=host, port=port, ready=lambda place: echo(f"{told} {place}", err=True))
        pool.close()
        return
    key = read_key(key_file(keys, "shuffler", unb64(result.mixing["key"])), "shuffler")
    head = mix_and_forget(result, pool, out, key)
    data = {"batch": out, "id": head.id, "messages": head.messages, "left_out": head.left_out}
    mixed = f"Mixed {head.messages:,} messages into {out} and deleted them here; the card is closed."
    output.tell(data, out, mixed)


@collect.command(short_help="Release results from reports, with a statement and a ledger entry.")
@_CARD
@click.argument("batch", required=False, type=click.Path())
@click.option("--store", help="The collector's store (local cards).")
@click.option(
    "--shares",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="An aggregator's sum; one each (aggregated cards).",
)
@click.option("--ledger", type=click.Path(), help="The ledger of the data set; made if there is none.")
@click.option("--out", type=click.Path(), help="A new folder for the results.")
@click.option(
    "--propose",
    "proposal",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Release nothing: write a proposal for the ledger's approvers into this new folder.",
)
@click.option(
    "--accept-weaker", is_flag=True, help="Open a batch of fewer people than promised; the statement says so."
)
@KEYS
@output_options
def analyse(
    card_file: str, batch: str | None, store: str | None, shares: tuple[str, ...], ledger: str | None, out: str | None,
    proposal: Path | None, accept_weaker: bool, keys: str, output: Printer
) -> None:  # fmt: skip
    """Open a mixed BATCH, take the reports of a local card (--store), or add up shares; release what they say.

    Without --ledger the reports of a local card are only looked at, which costs nothing: each is private by itself.
    A ledger with approvers releases what they have signed: --propose writes what they read.

    \b
    Example:
      barrow collect analyse card.json march.batch \\
        --ledger moods.ledger --out march
      barrow collect analyse card.json --store reports.db \\
        --ledger moods.ledger --out march
      barrow collect analyse card.json --shares leader-sum.json \\
        --shares helper-sum.json --ledger moods.ledger --out march
    """  # noqa: D301  (click reads the backspace)
    result = read_card(Path(card_file))
    given = (batch is not None, store is not None, bool(shares))
    if given != (result.shuffled, not (result.shuffled or result.summed), result.summed):
        wanted = (
            "march.batch" if result.shuffled
            else "--shares leader-sum.json --shares helper-sum.json" if result.summed else "--store reports.db"
        )  # fmt: skip
        raise ParameterError(
            f"The card is of the {result.model} model.",
            allowed="a batch for a shuffle card, shares of the sum for an aggregated one, a store for a local one",
            fix=f"barrow collect analyse {card_file} {wanted} --ledger {result.survey.study.dataset or 'my'}.ledger",
        )  # fmt: skip
    if store is not None and not store.startswith("postgres") and not os.path.exists(store):
        raise ParameterError(f"There is no store {store!r}.", allowed="the collector's store", fix="check the path")
    if ledger is None and store is not None and proposal is None:
        looked = collect_reports(result, open_store(store, result.survey.digest).texts())
        _show(looked.result(), output)
        return
    if ledger is None:
        raise ParameterError("No ledger is named.", allowed="the data set's ledger", fix="--ledger moods.ledger")
    if proposal is not None:
        refuse_existing(proposal, "--propose")
    if result.summed:
        reports = of_shares(result, shares)  # a ledger is made for what can be released
    elif result.shuffled:
        key = read_key(key_file(keys, "analyser", unb64(result.sealing["key"])), "analyser")
        reports = of_batch(result, str(batch), key, accept_weaker=accept_weaker)
    else:
        reports = of_reports(result, open_store(str(store), result.survey.digest).texts())
    try:
        state = Ledger.open(ledger)
    except MissingLedgerError:
        if proposal is not None:
            raise
        state = Ledger.create(ledger, result.survey.study)
    if proposal is not None:
        quorum_words(state)
        proposed = propose_collected(result.survey.study, reports, ledger=state)
        last = "Nothing was released or spent. Reports that come later are not in it: close the collection first."
        write_proposal(proposal, proposed, [reports.plan], state, output, last)
        return
    release = release_of(result, reports, ledger=state, out=out)
    written = f"\nWritten to {release.folder}."
    output.tell(msgspec.to_builtins(release.statement), str(release.folder), str(release), written)
