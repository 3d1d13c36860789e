"""The small parts of the services, each by one known answer."""

import asyncio
import hashlib

import pytest

from barrow.collect import make_card
from barrow.collect.admission import attest, line_of
from barrow.collect.batches import Head, read_batch, write_batch
from barrow.collect.card_form import signed_bytes
from barrow.collect.collector import Collector
from barrow.collect.issuer import Invitations, new_invitations
from barrow.collect.keys import b64, new_key, price_of, public_bytes, read_key, unb64, write_key
from barrow.collect.page import client_folder, demo_routes
from barrow.collect.pool import Pool
from barrow.collect.sealing import Opener, info_of, plain_of, seal
from barrow.collect.slots import Slots
from barrow.collect.stores import connect, open_store
from barrow.collect.tokens import blind, emsa_pss_encode, finalize, load_issuer, random_bytes, sign, verify
from barrow.collect.web import GroupCommit, Rates, reply
from barrow.collect.words import answered_by, card_text
from barrow.errors import ParameterError
from barrow.ledger import SigningKey
from barrow.local import Report, Survey
from barrow.study import Study

MOODS = "discrete(labels=['calm', 'tense'])"


def made_card(space: str, question: str, alpha: int):
    study = Study(space, alpha=alpha, users=100, model="local")
    return make_card(study, question, signer=new_key("signer"), front=new_key("front"), address="https://example.org")


def test_what_a_card_says():
    text = card_text(made_card(MOODS, "items(items=1)", 1)).replace("\n", " ")
    assert "a 50 % guess about everything you hold can become at most 73.2 %" in text
    line = made_card("line(low=0, high=10, step=1)", "frequency(items=1)", 3)
    assert answered_by(line).partition(":")[0] == "Python only"
    routes = demo_routes(made_card(MOODS, "items(items=1)", 3))
    assert [path for _, path in routes][:3] == [
        "/",
        "/demo.css",
        "/demo.js",
    ]
    assert (client_folder() / "src" / "index.js").is_file()


def test_fewer_people_than_planned_cost_more():
    study = Study("discrete(labels=['a', 'b'])", alpha=1, users=1000, delta="1e-6", model="shuffle", honest="0.9")
    plan = Survey(study, "frequency(items=2)").plan
    fewer = plan.for_people(50)
    assert (fewer.terms.users, fewer.event.reports) == (50, 90)
    assert fewer.guarantee.epsilon_at(1) > plan.guarantee.epsilon_at(1)


def test_batches_hold_whole_people(tmp_path):
    some = [bytes([i]) * 64 for i in range(7)]
    options = {"card": "sha256:0", "name": "0" * 32, "count": 7, "people_of": 2, "size": 64, "in_memory": 3}
    mine = new_key("shuffler")
    head = write_batch(tmp_path / "batch", some, mine, **options)
    assert (head.messages, head.left_out) == (6, 1)
    found = read_batch(tmp_path / "batch")
    assert len(set(found.items())) == 6
    assert found.signed_by(public_bytes(mine))
    assert not found.signed_by(public_bytes(new_key("shuffler")))
    assert not found.signed_by(bytes(31))


def test_commits_in_groups():
    async def twice():
        commits = GroupCommit(lambda rows: [row * 2 for row in rows])
        return await asyncio.gather(commits.add([1, 2]), commits.add([3]))

    assert asyncio.run(twice()) == [[2, 4], [6]]


def test_what_is_given_once(tmp_path):
    book = Invitations(str(tmp_path / "invitations.db"), "sha256:0")
    book.invite(["one"])
    answers = book.spend([("one", b"a"), ("one", b"a"), ("one", b"b"), ("two", b"a")])
    assert answers == ["accepted", "accepted", "used invitation", "no invitation"]
    assert len(set(new_invitations(3))) == 3
    pool = Pool(str(tmp_path / "pool.db"), "sha256:0", 65)
    x, y, z = (bytes([i]) * 64 for i in range(3))
    assert pool.add([x + b"t", x + b"u", z + b"u"]) == ["accepted", "repeated", "accepted"]
    assert pool.add([y + b"t", x + b"t"]) == ["accepted", "repeated"]
    assert (pool.count(), sorted(pool.items())) == (3, [x + b"t", y + b"t", z + b"u"])


def test_what_is_kept(tmp_path):
    store = open_store(str(tmp_path / "reports.db"), "sha256:0")
    assert store.add([(b"a", b"{}"), (b"a", b"{}")], {"malformed": 2}) == [True, False]
    assert (store.count(), store.refused(), list(store.texts())) == (1, {"malformed": 2}, ["{}"])
    made = connect(str(tmp_path / "x.db"), "CREATE TABLE IF NOT EXISTS t (k) ;", "sha256:0")
    assert made.execute("PRAGMA synchronous").fetchone() == (2,)
    slots = Slots(str(tmp_path / "slots"), 32)
    some = [hashlib.sha256(bytes([i])).digest() for i in range(9)]
    for record in some:
        slots.put(record)
    assert (slots.has([some[3], bytes(31) + b"x"]), slots.count()) == ([True, False], 9)


def test_keys(tmp_path):
    assert (b64(bytes(3)), b64(b"ab"), unb64("YWI"), unb64("YWI", 2)) == ("AAAA", "YWI", b"ab", b"ab")
    assert price_of("7/2") * 2 == 7
    assert len(public_bytes(new_key("analyser"))) == 32
    write_key(new_key("signer"), tmp_path / "signer.key")
    assert (tmp_path / "signer.key").stat().st_mode & 0o777 == 0o600


def test_what_signs_is_one_kind_of_key_and_files_are_read_in_one_place(tmp_path):
    """What barrow key new makes signs cards and batches too, and a file that holds no key ends in words."""
    made = SigningKey.new(tmp_path / "owner.key")
    for kind in ("signer", "shuffler", "front"):
        assert public_bytes(read_key(tmp_path / "owner.key", kind)) == made.public
    write_key(new_key("front"), tmp_path / "front.key")
    assert SigningKey.read(tmp_path / "front.key").public == public_bytes(read_key(tmp_path / "front.key", "front"))
    with pytest.raises(ParameterError, match="another one"):
        read_key(tmp_path / "owner.key", "analyser")
    write_key(new_key("analyser"), tmp_path / "analyser.key")
    with pytest.raises(ParameterError, match="not one that signs"):
        SigningKey.read(tmp_path / "analyser.key")
    odd = tmp_path / "odd.key"  # of a kind that nobody has heard of
    odd.write_text("-----BEGIN PRIVATE KEY-----\nMA4CAQAwBQYDKgMEBAIEAA==\n-----END PRIVATE KEY-----\n")
    odd.chmod(0o600)
    for read in (SigningKey.read, lambda path: read_key(path, "signer"), lambda path: read_key(path, "issuer")):
        with pytest.raises(ParameterError, match="holds no key"):
            read(odd)
    for path in (tmp_path / "front.key", tmp_path / "nowhere" / "x.key"):
        with pytest.raises(ParameterError, match=r"exists|cannot be written"):
            write_key(new_key("front"), path)


def test_sealed_messages():
    mine = new_key("analyser")
    sealed = seal("sha256:00", public_bytes(mine), 7)
    assert (len(sealed), Opener("sha256:00", mine, 10).open(sealed)) == (64, 7)
    assert Opener("sha256:01", mine, 10).open(sealed) == "cannot be opened"
    assert Opener("sha256:00", mine, 10).open(bytes(64)) == "cannot be opened"


def test_tokens_that_are_refused():
    issuer = new_key("issuer")
    public = issuer.public_key()
    with pytest.raises(ParameterError, match="no RSA key of 2048 bits"):
        load_issuer(b"nothing")
    with pytest.raises(ParameterError, match="of another size, or too large"):
        sign(issuer, b"short")
    made = blind(public, b"one")
    with pytest.raises(ParameterError, match="no signature of this token"):
        finalize(public, b"one", made, bytes(256))
    assert verify(public, b"one", made.prefix, finalize(public, b"one", made, sign(issuer, made.request)))
    assert (len(random_bytes(33)), len(emsa_pss_encode(b"x", 2047, bytes(48)))) == (33, 256)


def test_rates_and_replies():
    rates = Rates(2)
    assert [rates.allow("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert rates.allow("10.0.0.2")
    assert reply({"a": 1}, retry_after="60").body == b'{"a":1}'


def test_head():
    assert Head("sealed batch", 2, "sha256:0", "0" * 32, 10, 0, 352).messages == 10


def test_read_batch():
    with pytest.raises(ParameterError) as refused:
        read_batch("nowhere.batch")
    assert str(refused.value) == (
        "There is no batch 'nowhere.batch'.\n"
        "  allowed: a file that barrow collect shuffle wrote\n"
        "  fix:     check the path"
    )


def test_signed_bytes():
    assert signed_bytes({"b": 1, "a": "é", "signature": "x"}).decode() == '{"a":"é","b":1}'


def test_collector(tmp_path):
    front = new_key("front")
    study = Study(MOODS, alpha=3, users=100, model="local")
    card = make_card(study, "items(items=1)", signer=new_key("signer"), front=front, address="https://example.org")
    taking = Collector(card, open_store(str(tmp_path / "reports.db"), card.survey.digest))
    report = Report(card.survey.digest, "0" * 32, (1,)).to_text()
    line = line_of(report, attest(front, card.digest, report.encode()))
    assert asyncio.run(taking.take([line, line, report, "hello"])) == ["accepted", "repeated", *["not let in"] * 2]


def test_read_key():
    with pytest.raises(ParameterError) as refused:
        read_key("nowhere.key", "analyser")
    assert str(refused.value) == (
        "There is no key 'nowhere.key'.\n"
        "  allowed: the analyser's private key, as barrow collect keys wrote it\n"
        "  fix:     run this where the key is, or name its folder: --keys FOLDER"
    )


def test_info_of():
    assert info_of("sha256:00") == b"barrow message 2 sha256:00"


def test_plain_of():
    assert plain_of(258).hex() == "01000000000000000000000000000102"


def test_blind():
    from barrow.collect.keys import new_key

    issuer = new_key("issuer")
    made = blind(issuer.public_key(), b"one")
    signature = finalize(issuer.public_key(), b"one", made, sign(issuer, made.request))
    assert verify(issuer.public_key(), b"one", made.prefix, signature)
    assert not verify(issuer.public_key(), b"two", made.prefix, signature)
