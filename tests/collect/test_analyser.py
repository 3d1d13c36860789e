"""From people to a release: the statement says who must not work together, and prices what really arrived."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import barrow as bw
from barrow.cli.main import cli
from barrow.collect import make_card, read_card
from barrow.collect.analyser import analyse, of_batch, of_reports, open_batch
from barrow.collect.batches import read_batch
from barrow.collect.keys import unb64
from barrow.collect.sealing import seal
from barrow.collect.shuffler import mix_and_forget
from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import MissingLedgerError
from barrow.local.report import Report
from barrow.questions.collecting import for_people
from barrow.spaces.product import columns_of
from barrow.study import Study
from barrow.study.proposal import Proposal
from tests.collect.world import World, admitted, batch_of, item, key, let_in, local_card, shuffle_card
from tests.ledger.approval_suite import KEYS, QUORUM

PEOPLE = 6


@pytest.fixture(scope="module")
def card():
    return shuffle_card(users=PEOPLE, honest_fraction="0.8")


@pytest.fixture(scope="module")
def world(card, tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"), card, people=PEOPLE)
    for person in range(PEOPLE):
        client = bw.Client(card, memory=world.folder / f"{person}.json", limit=100)
        client.send(ids=[0, 3], invitation=world.codes[person], transport=world.transport)
    mix_and_forget(card, world.pool, world.folder / "batch", key("shuffler"))
    yield world
    world.stop()


@pytest.fixture
def ledger(card, tmp_path):
    return bw.Ledger.create(tmp_path / "moods.ledger", card.survey.study)


def test_a_release_with_a_statement_and_an_entry(card, world, ledger, tmp_path):
    reports = of_batch(card, world.folder / "batch", key("analyser"))
    release = analyse(card, reports, ledger=ledger, out=tmp_path / "out")
    statement = release.statement
    assert (statement.model, statement.people, statement.ledger.entry) == ("shuffle", PEOPLE, 2)
    text = " ".join(release.text.split())
    assert "at least 4 people (honest = 0.8 of 6)" in text
    assert "does not work together with the analyser" in text
    assert f"ε = {float(card.epsilon):.4g} for one person" in text
    assert "gave one to each person and signed once for each" in text
    assert statement.parameters["data"]["batch"] == read_batch(world.folder / "batch").head.id
    assert all(check.holds for check in bw.verify(tmp_path / "out", ledger=ledger))
    assert release.values.sum() == pytest.approx(1.0)
    # N = m * floor(n * honest), the person concerned included.
    assert statement.event["reports"] == 2 * 4
    # The same batch again is the same release, for free.
    again = analyse(card, of_batch(card, world.folder / "batch", key("analyser")), ledger=ledger, out=tmp_path / "out")
    assert again.values.tolist() == release.values.tolist()
    assert len(ledger.records()) == len(bw.Ledger.open(tmp_path / "moods.ledger").records())


def released_with_approval(run, place, surveys):
    """What has come is proposed, signed, and released; what comes later, or was not signed, is not."""
    for number, (name, source) in enumerate(surveys.items()):
        study = read_card(place / name).survey.study
        (place / f"governed{number}").mkdir()
        file = f"governed{number}/g.ledger"
        governed = Ledger.create(place / file, study, approval=QUORUM)
        asked = ("analyse", name, *source, "--ledger", file)
        refused = CliRunner().invoke(cli, ["collect", *asked]).exception
        assert "--propose proposal" in refused.fix
        proposal = f"proposal{number}"
        assert "Nothing was released or spent" in run(*asked, "--propose", proposal)
        assert "Proposal: nothing was released" in (place / proposal / "proposal.html").read_text()
        assert "exists" in str(CliRunner().invoke(cli, ["collect", *asked, "--propose", proposal]).exception)
        read = Proposal.read(place / proposal)
        for by in ("ana", "cy"):
            governed.accept(read.approve(by=by, key=KEYS[by]))
        run(*asked, "--out", f"approved{number}")
        held = bw.verify(place / f"approved{number}", ledger=governed)
        assert all(check.holds for check in held)
        assert "approved by ana, cy" in str(held)
    none = CliRunner().invoke(cli, ["collect", *asked[:-1], "none.ledger", "--propose", "p"])
    assert isinstance(none.exception, MissingLedgerError)


def some_batch(card, place, count, spoil=0):
    """Good messages, and some that were let in but are of another card inside."""
    bad = [seal("sha256:" + "0" * 64, unb64(card.sealing["key"]), 0) for _ in range(spoil)]
    built = [item(card, i % 4) for i in range(count)] + [one + let_in(card, one) for one in bad]
    return batch_of(card, place, built)


def test_a_batch_is_accepted_once(card, world, ledger, tmp_path):
    analyse(card, of_batch(card, world.folder / "batch", key("analyser")), ledger=ledger, out=tmp_path / "out")
    other = some_batch(card, tmp_path / "other", 2 * PEOPLE)
    with pytest.raises(LedgerError, match="accepted before"):
        analyse(card, of_batch(card, other, key("analyser")), ledger=ledger, out=tmp_path / "second")


def test_what_does_not_belong_is_counted_and_left_out(card, tmp_path):
    batch = some_batch(card, tmp_path / "batch", 2 * PEOPLE + 1, spoil=5)
    opened = open_batch(card, batch, key("analyser"))
    assert opened.refused == {"cannot be opened": 5, "left over": 1}
    assert (opened.people, int(opened.counts.sum())) == (PEOPLE, 2 * PEOPLE)
    with pytest.raises(ParameterError, match="another card"):
        open_batch(shuffle_card(alpha=9), batch, key("analyser"))
    with pytest.raises(ParameterError, match="not the one on the card"):
        open_batch(card, batch, key("analyser", 2))


def test_fewer_people_are_a_weaker_promise(ledger, tmp_path):
    card = shuffle_card(users=400, alpha="0.5", honest_fraction="0.9")
    (tmp_path / "apart").mkdir()  # a data set has one ledger in a folder
    state = bw.Ledger.create(tmp_path / "apart" / "other.ledger", card.survey.study)
    batch = some_batch(card, tmp_path / "batch", 2 * 100)
    with pytest.raises(ParameterError, match="100 people"):
        analyse(card, of_batch(card, batch, key("analyser")), ledger=state, out=tmp_path / "out")
    plan = card.survey.plan
    fewer = for_people(plan, 100)
    assert fewer.event.reports == 2 * 90
    assert fewer.guarantee.epsilon_at(1) > plan.guarantee.epsilon_at(1)
    assert np.array_equal(fewer.itemwise.randomiser.stops, plan.itemwise.randomiser.stops)


def test_honest_is_priced():
    """Fewer honest people mean more noise for the same promise, and 1 changes nothing."""
    terms = {"alpha": "0.5", "delta": "1e-6", "users": 400, "model": "shuffle"}
    plans = {
        share: bw.Study("discrete(labels=['a', 'b'])", honest_fraction=share, **terms).plan("items(items=2)")
        for share in (1, "0.9", "0.5")
    }
    rates = [plans[share].itemwise.randomiser.alpha0_upper for share in (1, "0.9", "0.5")]
    assert rates[0] > rates[1] > rates[2]
    half = bw.Study("discrete(labels=['a', 'b'])", **{**terms, "users": 200}).plan("items(items=2)")
    assert rates[2] == half.itemwise.randomiser.alpha0_upper
    assert plans["0.5"].terms.to_spec()["honest"] == "0.5"
    assert "honest" not in plans[1].terms.to_spec()
    for wrong in (0, "1.1", -1):
        with pytest.raises(ParameterError, match="honest"):
            bw.Study("discrete(labels=['a', 'b'])", honest_fraction=wrong, **terms)
    with pytest.raises(ParameterError, match="shuffle"):
        bw.Study("discrete(labels=['a', 'b'])", honest_fraction="0.5", alpha=1, users=10)
    study = bw.Study("discrete(labels=['a', 'b'])", honest_fraction="1/3", **terms)
    assert bw.Study.from_spec(study.to_spec()).honest_fraction == Fraction(1, 3)


def test_attested_people_are_an_assumption(tmp_path):
    card = shuffle_card(tokens=False, users=PEOPLE)
    ledger = bw.Ledger.create(tmp_path / "moods.ledger", card.survey.study)
    reports = of_batch(card, some_batch(card, tmp_path / "b", 2 * PEOPLE), key("analyser"))
    release = analyse(card, reports, ledger=ledger, out=tmp_path / "o")
    assert "nobody else checked that these are different people" in " ".join(release.text.split())
    assert release.statement.parameters["data"]["counted"] == "attested"


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(
        'dataset = "moods"\nusers = 3\nmodel = "shuffle"\nalpha = 8\ndelta = 1e-6\n[space]\nkind = "discrete"\n'
        'labels = ["calm", "glad"]\n[[question]]\nname = "mood"\nkind = "frequency"\nitems = 2\n'
    )

    def run(*words, code=0):
        result = CliRunner().invoke(cli, ["collect", *words])
        assert result.exit_code == code, result.output
        return result.output

    where = ["--address", "https://c.example", "--shuffler", "https://s.example"]
    name = run("init", "study.toml", *where, "--attested", "--quiet").strip()
    assert (tmp_path / "keys" / "signer.key").stat().st_mode & 0o777 == 0o600
    assert "ε = 8" in run("card", name)
    told = " ".join(run("card", name, "--explain").split())
    assert "What leaves your phone: 2 messages of 64 bytes" in told
    assert "cannot check" in told
    from barrow.collect import read_card
    from barrow.collect.admission import attest, line_of
    from barrow.collect.keys import key_file, read_key, unb64
    from barrow.collect.shuffler import open_pool

    card = read_card(tmp_path / name)
    front = read_key(key_file("keys", "front", unb64(card.admission["key"])), "front")
    pool = open_pool("pool.db", card)
    for person in range(3):
        client = bw.Client(card, memory=tmp_path / f"{person}.json", limit=10)
        pool.add([message + attest(front, card.digest, message) for message in client.sealed(["calm", "glad"])])
    pool.close()
    assert "6 messages" in run("shuffle", name, "--release", "b.batch")
    assert "Written to out" in run("analyse", name, "b.batch", "--ledger", "m.ledger", "--out", "out")
    assert bw.Release.read("out").statement.people == 3
    local = (tmp_path / "study.toml").read_text().replace('"shuffle"', '"local"').replace("delta = 1e-6\n", "")
    (tmp_path / "local.toml").write_text(local)
    told = run("init", "local.toml", "--address", "https://c.example", "--attested")
    assert "Answered by: Python, browsers and Node." in told
    other = told.split("Wrote ")[1].split(",")[0]
    line = local.replace('kind = "discrete"\nlabels = ["calm", "glad"]', 'kind = "line"\nlow = 0\nhigh = 9\nstep = 1')
    (tmp_path / "line.toml").write_text(line)
    told = run("init", "line.toml", "--address", "https://c.example")
    assert "Python only" in told
    python = told.split("Wrote ")[1].split(",")[0]
    assert "Python client only" in " ".join(run("card", python, "--explain").split())
    refused = CliRunner().invoke(cli, ["collect", "serve", python, "--demo"])
    assert "demo page cannot answer" in str(refused.exception)
    card = read_card(tmp_path / other)
    from barrow.collect.stores import open_store

    store = open_store("reports.db", card.survey.digest)
    me = bw.Client(card, memory=tmp_path / "me.json", limit=10).report(["calm", "glad"])
    front = read_key(key_file("keys", "front", unb64(card.admission["key"])), "front")
    line = line_of(me.to_text(), attest(front, card.digest, me.to_text().encode()))
    store.add([(bytes.fromhex(me.id), line.encode())], {})
    (tmp_path / "apart").mkdir()  # a data set has one ledger in a folder
    assert "from 1 people" in run("analyse", other, "--store", "reports.db")
    told = run("analyse", other, "--store", "reports.db", "--ledger", "apart/l.ledger", "--out", "local")
    assert "Written to local" in told
    release = bw.Release.read("local")
    assert (release.statement.people, release.statement.model) == (1, "local")
    assert "own client drew the report" in " ".join(release.text.split())
    assert CliRunner().invoke(cli, ["verify", "local", "--ledger", "apart/l.ledger"]).exit_code == 0
    released_with_approval(run, tmp_path, {other: ("--store", "reports.db"), name: ("b.batch",)})
    for words, text in (
        (["b.batch", "--ledger", "apart/l.ledger"], "local model"),
        (["--store", "none.db"], "no store"),
    ):
        assert text in str(CliRunner().invoke(cli, ["collect", "analyse", other, *words]).exception)


@pytest.mark.parametrize(
    ("space", "asked", "items", "tables"),
    [
        ("line(low=0, high=10, step=1, unit='km')", "mean", [3, 4], {"values"}),
        ("discrete(labels=['a', 'b', 'c'])", "histogram", ["a"], {"values", "unbiased"}),
        ("discrete(labels=['a', 'b', 'c'])", "frequency(samples=2)", ["a", "b"], {"values", "reports"}),
    ],
)
def test_local_releases(tmp_path, space, asked, items, tables):
    """What reports say is released once, with a statement and an entry, for as many people as reported."""
    study = Study(space, alpha=3, users=40, model="local", dataset="d", questions=[asked])
    card = make_card(study, signer=key("signer"), front=key("front"), address="https://x.example")
    held = columns_of(study.space, items)
    built = [bw.Client(card, memory=tmp_path / f"{i}.json", limit=99).report(held).to_text() for i in range(5)]
    texts = [admitted(card, text) for text in built]
    ledger = Ledger.create(tmp_path / "d.ledger", study)
    release = analyse(card, of_reports(card, [*texts, texts[0], "nonsense"]), ledger=ledger, out=tmp_path / "out")
    assert release.statement.people == 5
    assert release.statement.parameters["data"]["refused"] == {"repeated": 1, "not let in": 1}
    # What stands out from the noise is a table of its own, where anything does in this draw.
    assert {file.stem for file in (tmp_path / "out").glob("*.csv")} - {"regions"} == tables
    assert ledger.records()[-1].kind == "commit"
    again = analyse(card, of_reports(card, [*texts, texts[0], "nonsense"]), ledger=ledger, out=tmp_path / "out")
    assert again.statement == release.statement
    with pytest.raises(LedgerError, match="accepted before"):
        analyse(card, of_reports(card, texts[:4]), ledger=ledger, out=tmp_path / "more")
    with pytest.raises(ParameterError, match="shuffle"):
        analyse(shuffle_card(), of_reports(shuffle_card(), texts), ledger=ledger)


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "attested"])
def test_a_local_statement_says_who_let_people_in(tmp_path, tokens):
    """And 26,445 reports of one sender are not 26,445 people: nobody let them in, or the study is about fewer."""
    card = local_card(tokens=tokens, users=4, dataset="moods")
    clients = [bw.Client(card, memory=tmp_path / f"{i}.json", limit=99) for i in range(6)]
    good = [admitted(card, client.report(["calm", "sad"]).to_text()) for client in clients]
    strange = [Report(card.survey.digest, f"{i:032x}", (0, 1)).to_text() for i in range(26_445)]
    ledger = Ledger.create(tmp_path / "moods.ledger", card.survey.study)
    release = analyse(card, of_reports(card, [*strange, *good]), ledger=ledger, out=tmp_path / "out")
    assert release.statement.people == 4
    data = release.statement.parameters["data"]
    assert data["refused"] == {"not let in": 26_445, "too many": 2}
    assert data["counted"] == card.counted
    text = "gave one to each person and signed once for each" if tokens else "the front end let in each person once"
    assert text in " ".join(release.text.split())
