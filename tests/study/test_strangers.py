"""What strangers may put into study files, cards and folders, and where it ends: in words, at the door."""

from __future__ import annotations

import os
import stat

import pytest

import barrow as bw
from barrow.collect.card import Card, make_card, read_card, signed_bytes
from barrow.collect.keys import b64, new_key, public_bytes, read_key
from barrow.collect.patience import patiently
from barrow.engines import DuckDBEngine
from barrow.engines.tables import read_table_file
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.local.memory import Memory
from barrow.study import read_statement, read_study
from barrow.study.file import study_from_spec, study_from_text
from barrow.web.saving import StudyPlace
from tests.study.helpers import make_ledger, make_study

SPACE = {"kind": "line", "low": 0, "high": 100, "step": 1, "unit": "years"}


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


def test_pipes_and_devices_are_refused_wherever_a_file_is_opened(pipe, tmp_path):
    os.symlink("/dev/zero", tmp_path / "zero.csv")
    os.chmod(pipe, 0o600)
    for path in (pipe, tmp_path / "zero.csv"):
        for opens in (
            read_study,
            read_table_file,
            read_statement,
            read_card,
            lambda path: read_key(path, "signer"),
            lambda path: DuckDBEngine(progress=False).columns(str(path)),
            lambda path: Memory(path).load(),
        ):
            with pytest.raises(BarrowError):
                opens(path)
    with pytest.raises(ParameterError, match="is a pipe"):
        read_study(pipe)


def test_a_study_file_has_an_end(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("#" * (2**22 + 1))
    with pytest.raises(ParameterError, match="too large") as error:
        read_study(file)
    assert error.value.allowed == "at most 4 MiB"
    row = {"share": "all", "distance": "5 years", "epsilon": 1}
    for key, table in (("promise", row), ("question", {"kind": "mean"})):
        with pytest.raises(ParameterError, match="1,001"):
            study_from_spec({"space": SPACE, "users": 100, key: [table] * 1001})


def test_only_whoever_runs_a_study_acknowledges_its_query(tmp_path):
    (tmp_path / "a.csv").write_text("uid,age\n1,20\n")
    file = tmp_path / "study.toml"
    file.write_text(
        'users = 100\nalpha = 1\n[space]\nkind = "line"\nlow = 0\nhigh = 100\nstep = 1\n[data]\n'
        f"source = '{tmp_path}/a.csv'\nsql = 'SELECT uid, max(age) AS age FROM records GROUP BY uid'\n"
        'user = "uid"\nitems = ["age"]\nacknowledge_sql = true\n'
    )
    for study in (read_study(file), bw.Study.read(file), study_from_spec(read_study(file).to_spec())):
        with pytest.raises(ParameterError, match="groups records") as error:
            study.data.validate(study.space)
        assert "--acknowledge-sql" in error.value.fix
    study = read_study(file, acknowledge_sql=True)
    study.data.validate(study.space)


@pytest.mark.parametrize(
    "more",
    [
        'ledger = "x.ledger"\n',
        '[data]\nsource = "a.csv"\n',
        '[space.inner]\nkind = "embedding"\nvectors = "/etc/passwd"\n',
    ],
)
def test_the_study_of_a_card_names_no_files(more):
    text = 'users = 100\n{}[space]\nkind = "line"\nlow = 0\nhigh = 10\nstep = 1\n{}'
    top = more if more.startswith("ledger") else ""
    study_from_text(text.format("", ""))
    with pytest.raises(ParameterError, match="names files"):
        study_from_text(text.format(top, "" if top else more))


def test_a_card_is_not_made_of_files(tmp_path):
    (tmp_path / "words.csv").write_text("word,x,y\ncat,0,1\ndog,1,0\n")
    spec = {"space": {"kind": "embedding", "vectors": "words.csv"}, "users": 100, "alpha": 3, "model": "local"}
    study = study_from_spec(spec, tmp_path)
    with pytest.raises(ParameterError, match=r"in files \(vectors\)"):
        make_card(
            study, "items(items=1)", signer=new_key("signer"), front=new_key("front"), address="https://example.org"
        )


def test_planning_a_strangers_card_is_given_up(tmp_path, monkeypatch):
    study = bw.Study("discrete(labels=['calm', 'tense'])", alpha=3, users=100, model="local")
    card = make_card(
        study, "items(items=1)", signer=new_key("signer"), front=new_key("front"), address="https://example.org"
    )
    monkeypatch.setattr("barrow.collect.patience.SECONDS", 0.0)
    with pytest.raises(ParameterError, match="Planning the card's study was given up") as error:
        bw.Client(Card(dict(card.data)), memory=tmp_path / "me.json", limit=10)
    assert "fewer items" in error.value.fix
    assert not (tmp_path / "me.json").exists()


def test_patience_ends_in_any_thread_and_is_not_taken_for_a_mechanism_that_does_not_fit():
    from threading import Thread

    lines = []

    def plan():
        while True:
            try:
                sorted([2, 1])
            except Exception:
                continue

    def work():
        try:
            patiently(plan, "It", 0.01)
        except ParameterError as error:
            lines.append(str(error))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert "given up after 0.01 s" in lines[0]


@pytest.mark.parametrize("question", ["mean", "histogram", "quantile"])
@pytest.mark.parametrize("alpha", ["1e-308", 5e-324, "1e-300", "1e300"])
def test_an_alpha_beyond_all_noise_is_said(question, alpha):
    study = bw.Study("line(low=0, high=10, step=1)", alpha=alpha, users=100, questions=[question])
    with pytest.raises(ParameterError, match="beyond what noise is planned for"):
        study.plan()


def test_every_alpha_that_is_allowed_can_be_planned():
    for alpha in ("1e-9", "1e9"):
        study = bw.Study("line(low=0, high=10, step=1)", alpha=alpha, users=100, questions=["histogram"])
        assert study.plan().alpha > 0


def test_a_missing_statement_in_words_is_said(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    folder = study.release("mean", out=tmp_path / "out").folder
    (folder / "statement.txt").unlink()
    with pytest.raises(ParameterError, match=r"has no statement\.txt"):
        bw.Release.read(folder)
    checks = {check.what: check for check in bw.verify(folder)}
    assert not checks["ledger"].holds


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_ledgers_are_for_their_owner_alone(tmp_path, umask):
    study = make_study(tmp_path)
    before = os.umask(umask)
    try:
        ledger = Ledger.create(tmp_path / "a.ledger", study)
        seen = set()
        with ledger._store.transaction():
            seen = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*a.ledger*")}
    finally:
        os.umask(before)
    assert "a.ledger" in seen
    assert set(seen.values()) == {0o600}


def test_the_designer_writes_through_no_name_that_somebody_put_there(tmp_path, monkeypatch):
    place, victim = StudyPlace(tmp_path / "study.toml"), tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("barrow.web.saving.time.monotonic_ns", lambda: 7)
    for name in (f".study.toml.{os.getpid()}", place._own.name):
        for tail in ("", "-7", ".7", ".new"):
            os.symlink(victim, tmp_path / f"{name}{tail}")
    with pytest.raises(ParameterError, match="cannot be written"):
        place.save("x = 1\n", seen=None)
    place.keep({"study": 1})
    assert victim.read_text() == "mine"


def _signed(data):
    key = new_key("signer")
    data = {**data, "signer": b64(public_bytes(key))}
    return {**data, "signature": b64(key.sign(signed_bytes(data)))}


def test_a_card_that_names_a_file_opens_none(pipe):
    study = bw.Study("discrete(labels=['calm', 'tense'])", alpha=3, users=100, model="local")
    card = make_card(
        study, "items(items=1)", signer=new_key("signer"), front=new_key("front"), address="https://example.org"
    )
    text = card.study.replace("[space]", f'[data]\nsource = "{pipe}"\n\n[space]')
    with pytest.raises(ParameterError, match="names files"):
        _ = Card(_signed({**card.data, "study": text})).survey
