"""Aggregators who meet by files: exact sums, one draw of noise, and everything that is wrong refused in words."""

import json
import random

import pytest

from barrow.collect.admission import attest
from barrow.collect.aggregator import add_shares
from barrow.collect.keys import new_key
from barrow.collect.sealing import seal_bytes
from barrow.collect.share_messages import SealedReport, _info
from barrow.collect.share_store import ACCEPTED, REFUSED, ShareStore
from barrow.collect.sum_exchange import add_files, exchange, read_sums
from barrow.collect.sum_task import new_verify_key, read_verify_key, role_index, verify_digest, write_verify_key
from barrow.errors import LedgerError, ParameterError
from tests.collect.prio3.cases import lying
from tests.collect.sums.world import VERIFY, World


def put(world, folder, people):
    """One file a person and aggregator; the people's values."""
    for number, values in enumerate(people):
        _, messages = world.report(values)
        for i, message in enumerate(messages):
            (folder / f"{number}.{i}").write_bytes(message)


def made(tmp_path, aggregators=2, count=5, **options):
    world = World(tmp_path, aggregators, **options)
    (tmp_path / "meet").mkdir()
    (tmp_path / "shares").mkdir()
    people = [world.values() for _ in range(count)]
    put(world, tmp_path / "shares", people)
    parties = [world.aggregator(i) for i in range(aggregators)]
    return world, people, parties


def files(tmp_path, index):
    return sorted((tmp_path / "shares").glob(f"*.{index}"))


@pytest.mark.parametrize("aggregators", [2, 3])
def test_from_files_to_the_exact_sum(tmp_path, aggregators):
    source = random.Random(1)
    drawn = []

    def noise():
        drawn.append([source.randint(-50, 50) for _ in range(7)])
        return drawn[-1]

    world, people, parties = made(tmp_path, aggregators, noise=noise)
    meet = tmp_path / "meet"
    for i, party in enumerate(parties):
        assert add_files(party, files(tmp_path, i)) == {"accepted": 5}
    for _ in range(2):
        words = [exchange(party, meet) for party in parties]
    assert words == ["5 reports counted, 0 wait for the others."] * aggregators
    assert drawn == []  # noise is drawn after closing
    words = [exchange(party, meet, close=True, fewest=1) for party in parties]
    assert "must close too" in words[0]
    assert words[-1].startswith("Done")
    words = [exchange(party, meet) for party in parties]
    assert all(line.startswith("Done") for line in words)
    result = read_sums(world.task, sorted(meet.glob("*-sum.json")))
    assert result.reports == 5
    assert result.values == [sum(column) for column in zip(*people, *drawn, strict=True)]
    assert world.draws == aggregators


def test_one_turn_after_the_other_and_late_reports(tmp_path):
    world, people, (leader, helper) = made(tmp_path)
    meet = tmp_path / "meet"
    add_files(leader, files(tmp_path, 0)[:3])
    add_files(helper, files(tmp_path, 1)[1:])
    for party in (leader, helper, leader):
        exchange(party, meet)
    assert (leader.store.count(ACCEPTED), helper.store.count(ACCEPTED)) == (2, 2)
    assert add_files(leader, files(tmp_path, 0)) == {"repeated": 3, "accepted": 2}
    assert add_files(helper, files(tmp_path, 1)) == {"repeated": 4, "accepted": 1}
    for party in (leader, helper, leader):
        assert exchange(party, meet)
    assert len(list(meet.glob("leader-verifiers-*.bin"))) == 2
    for party in (leader, helper, leader):
        exchange(party, meet, close=True, fewest=1)
    assert read_sums(world.task, meet.glob("*-sum.json")).values == [
        sum(column) for column in zip(*people, strict=True)
    ]
    extra = world.report()[1]
    assert leader.add([extra[0], extra[0][:-1], b"", files(tmp_path, 0)[0].read_bytes()]) == [
        "closed", "wrong size", "malformed", "repeated",
    ]  # fmt: skip


def test_a_nonce_is_counted_once_whoever_sends_it_again(tmp_path):
    world, people, (leader, helper) = made(tmp_path, count=1)
    for _ in range(3):
        for i, party in enumerate((leader, helper)):
            add_files(party, files(tmp_path, i))
            exchange(party, tmp_path / "meet")
    before = leader.store._link.execute("SELECT value FROM held WHERE name = 'sum'").fetchone()
    row = leader.store._link.execute("SELECT nonce, message FROM reports").fetchone()
    leader.store.decide(world.task.prio3, {row[0]: row[1]})
    assert leader.store._link.execute("SELECT value FROM held WHERE name = 'sum'").fetchone() == before
    for party in (leader, helper, leader):
        exchange(party, tmp_path / "meet", close=True, fewest=1)
    assert read_sums(world.task, (tmp_path / "meet").glob("*-sum.json")).values == people[0]


def test_noise_is_drawn_once_and_stored_before_anything_is_told(tmp_path, monkeypatch):
    source = random.Random(3)
    world, _, (leader, helper) = made(tmp_path, noise=lambda: [source.randint(-9, 9) for _ in range(7)])
    meet = tmp_path / "meet"
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
    for party in (leader, helper, leader):
        exchange(party, meet)

    def fails(*_):
        raise RuntimeError("killed before anything is told")

    monkeypatch.setattr("barrow.collect.sum_exchange._write", fails)
    with pytest.raises(RuntimeError):
        exchange(leader, meet, close=True, fewest=1)
    monkeypatch.undo()
    held = leader.store._link.execute("SELECT value FROM held WHERE name = 'noised'").fetchone()
    assert held is not None
    assert leader.store._link.execute("SELECT value FROM held WHERE name = 'sum'").fetchone() is None
    again = World.aggregator(world, 0)
    exchange(again, meet, close=True)
    exchange(helper, meet, close=True, fewest=1)
    for _ in range(3):
        exchange(again, meet)
        exchange(world.aggregator(1), meet)
    assert again.store._link.execute("SELECT value FROM held WHERE name = 'noised'").fetchone() == held
    assert world.draws == 2


def test_cheats_are_left_out_at_both_and_counted_by_reason(tmp_path):
    world, people, (leader, helper) = made(tmp_path, count=3)
    bits = [1] * world.circuit.length
    nonce = bytes(range(16))
    public, shares = lying(world.task.prio3, bits, nonce, bytes(world.task.prio3.random_size))
    _, honest = world.report()
    sealed = [
        seal_bytes(_info(world.task, i, nonce, public), world.task.keys[i], share) for i, share in enumerate(shares)
    ]
    report = SealedReport(nonce, public, tuple(sealed))
    admission = attest(world.front, world.card, report.signed)
    damaged = bytearray(honest[0])
    damaged[-1] ^= 1
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
        assert party.add([report.message(i, admission)]) == ["accepted"]
    leader.add([bytes(damaged)])
    helper.add([honest[1]])
    for party in (leader, helper, leader):
        exchange(party, tmp_path / "meet")
    assert (leader.store.count(ACCEPTED), helper.store.count(ACCEPTED)) == (3, 3)
    assert leader.store.refused() == {"cannot be opened": 1, "not valid": 1}
    assert helper.store.refused() == {"not valid": 1}
    with pytest.raises(ParameterError, match="1 reports wait"):
        exchange(helper, tmp_path / "meet", close=True, fewest=1)
    exchange(helper, tmp_path / "meet", close=True, fewest=1, leave_out=True)
    exchange(leader, tmp_path / "meet", close=True, fewest=1)
    exchange(helper, tmp_path / "meet")
    assert helper.store.count(REFUSED) == 2
    result = read_sums(world.task, (tmp_path / "meet").glob("*-sum.json"))
    assert result.values == [sum(column) for column in zip(*people, strict=True)]


def test_who_is_not_let_in_is_refused_by_the_helper_too(tmp_path):
    world, _, parties = made(tmp_path, count=1)
    for i, party in enumerate(parties):
        message = bytearray(files(tmp_path, i)[0].read_bytes())
        message[5 + 16 + 64] ^= 1  # a byte of what lets it in
        assert party.add([bytes(message)]) == ["not let in"]
        other = World(tmp_path / "x", card=world.card)  # other people's front end
        _sealed, messages = other.report()
        assert party.add([messages[i]]) == ["not let in"]
        assert party.store.count(ACCEPTED) == 0


def test_other_cards_versions_aggregators_and_sizes_are_refused(tmp_path):
    world, _, (leader, _helper) = made(tmp_path, count=2)
    good = files(tmp_path, 0)[0].read_bytes()
    assert leader.add([files(tmp_path, 1)[0].read_bytes()]) == ["other aggregator"]
    assert leader.add([good[:3] + b"\x02" + good[4:], good + b"x", b"<html>"]) == [
        "other version", "wrong size", "malformed",
    ]  # fmt: skip
    cut = tmp_path / "cut"
    cut.write_bytes(good + good[:-7])
    with pytest.raises(ParameterError, match="does not hold complete shares"):
        add_files(leader, [cut])
    with pytest.raises(ParameterError, match="cannot be read"):
        add_files(leader, [tmp_path / "nowhere"])
    assert add_files(leader, [files(tmp_path, 0)[0], files(tmp_path, 0)[0]]) == {"accepted": 1, "repeated": 1}
    with pytest.raises(ParameterError, match="belongs to another card"):
        ShareStore(tmp_path / "leader.db", "sha256:" + "00" * 32, 0)
    with pytest.raises(ParameterError, match="belongs to another card"):
        world.aggregator(1, "leader.db")
    assert World(tmp_path, card=world.card, expires=0).aggregator(0, "old.db").add([good]) == ["expired"]


@pytest.mark.parametrize("damage", ["cut", "bit", "card", "version", "twice", "empty"])
def test_damaged_files_of_the_others_are_refused_and_nothing_is_counted(tmp_path, damage):
    _world, _, (leader, helper) = made(tmp_path, count=2)
    meet = tmp_path / "meet"
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
    exchange(leader, meet)
    path = meet / "leader-verifiers-1.bin"
    data = path.read_bytes()
    changed = {
        "cut": data[:-5],
        "bit": data[:200] + bytes([data[200] ^ 1]) + data[201:],
        "card": data.replace(b"abab", b"abac"),
        "version": data.replace(b'"version":1', b'"version":2'),
        "twice": None,
        "empty": b"",
    }[damage]
    if changed is None:
        (meet / "leader-verifiers-2.bin").write_bytes(data)
    else:
        path.write_bytes(changed)
    with pytest.raises(ParameterError, match="nothing was counted"):
        exchange(helper, meet)
    assert helper.store.count(ACCEPTED) == 0
    path.write_bytes(data)
    (meet / "leader-verifiers-2.bin").unlink(missing_ok=True)
    exchange(helper, meet)
    assert helper.store.count(ACCEPTED) == 2


def test_a_leader_that_lets_one_person_through_is_not_followed(tmp_path):
    world, _, (leader, helper) = made(tmp_path, count=3)
    meet = tmp_path / "meet"
    add_files(leader, files(tmp_path, 0)[:1])
    add_files(helper, files(tmp_path, 1))
    for party in (leader, helper, leader):
        exchange(party, meet)
    with pytest.raises(ParameterError, match="1 reports were counted, but at least 100 are needed"):
        exchange(helper, meet, close=True, leave_out=True)
    assert not helper.store.closed
    assert world.draws == 0


def test_unequal_sets_release_nothing(tmp_path):
    _world, _, (leader, helper) = made(tmp_path, count=3)
    meet = tmp_path / "meet"
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
    exchange(leader, meet)
    exchange(helper, meet)  # counts all three
    (meet / "helper-verifiers-1.bin").unlink()
    exchange(leader, meet, close=True, fewest=0, leave_out=True)  # counts none
    with pytest.raises(ParameterError, match="counted other reports"):
        exchange(helper, meet, close=True, fewest=1)
    with pytest.raises(ParameterError, match="counted other reports"):
        exchange(leader, meet)
    assert not list(meet.glob("*-sum.json"))


def finished(tmp_path):
    world, _people, (leader, helper) = made(tmp_path, count=3)
    meet = tmp_path / "meet"
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
    for party in (leader, helper, leader):
        exchange(party, meet)
    for party in (leader, helper, leader):
        exchange(party, meet, close=True, fewest=1)
    return world, meet, (leader, helper)


def test_shares_of_sums_that_do_not_belong_together_are_refused(tmp_path):
    world, meet, _ = finished(tmp_path)
    one, two = meet / "leader-sum.json", meet / "helper-sum.json"
    assert read_sums(world.task, [two, one]).reports == 3
    for paths, words in [([one], "helper's share of the sum is missing"), ([one, one], "same aggregator")]:
        with pytest.raises(ParameterError, match=words):
            read_sums(world.task, paths)
    good = json.loads(two.read_text())
    zero = "A" * (len(good["share"]) - 1) + "A"
    for change, words in [
        ({"share": zero}, "differs from the one that it committed to"),
        ({"reports": 4}, "did not count the same reports"),
        ({"nonces": "sha256:" + "0" * 64}, "did not count the same reports"),
        ({"card": "sha256:" + "0" * 64}, "another card"),
        ({"version": 2}, "another kind or version"),
        ({"aggregator": 2}, "no place"),
        ({"commitments": []}, "no place"),
        ({"more": 1}, "is no share of a sum"),
    ]:
        two.write_text(json.dumps({**good, **change}))
        with pytest.raises(ParameterError, match=words):
            read_sums(world.task, [one, two])
    two.write_text("")
    with pytest.raises(ParameterError, match="is no share of a sum"):
        read_sums(world.task, [one, two])
    with pytest.raises(ParameterError, match="cannot be read"):
        read_sums(world.task, [one, tmp_path / "nowhere"])


def test_closings_that_do_not_belong_are_refused(tmp_path):
    _world, meet, (leader, _helper) = finished(tmp_path)
    path = meet / "helper-closing.json"
    good = json.loads(path.read_text())
    for change, words in [
        ({"card": "sha256:" + "0" * 64}, "of another card"),
        ({"version": 2}, "of another kind or version"),
        ({"aggregator": 0}, "a second one of the same"),
        ({"aggregator": 5}, "of an unknown aggregator"),
        ({"reports": 2}, "counted other reports"),
        ({"x": 2}, "is no closing"),
    ]:
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(ParameterError, match=words):
            exchange(leader, meet)
    path.write_text(json.dumps({**good, "commitment": "sha256:" + "1" * 64}))
    with pytest.raises(LedgerError, match="sent two different closings"):
        exchange(leader, meet)
    with pytest.raises(ParameterError, match="has not closed yet"):
        leader.share([])


def test_keys_that_are_not_the_cards_are_refused(tmp_path):
    world = World(tmp_path)
    with pytest.raises(ParameterError, match="not the leader's"):
        type(world.aggregator(0))(world.task, 0, None, new_key("analyser"), VERIFY)
    with pytest.raises(ParameterError, match="common key is not"):
        type(world.aggregator(0))(world.task, 0, None, world.keys[0], bytes(32))
    with pytest.raises(ParameterError, match="no aggregator 'helper2'"):
        role_index("helper2", 2)
    key = new_verify_key()
    place, digest = write_verify_key(tmp_path, key), verify_digest(key)
    assert read_verify_key(tmp_path, digest) == key
    place.write_text("00\n")
    with pytest.raises(ParameterError, match="not the one that the card names"):
        read_verify_key(tmp_path, digest)
    with pytest.raises(ParameterError, match="no folder"):
        exchange(world.aggregator(0), tmp_path / "nowhere")


def test_a_report_survives_its_owners_memory(tmp_path):
    sealed, _messages = World(tmp_path).report()
    again = SealedReport.from_json(json.loads(json.dumps(sealed.to_json())))
    assert again == sealed


def test_sums_say_who_is_missing_before_anything_is_added(tmp_path):
    with pytest.raises(ParameterError, match="leader's share of the sum is missing"):
        add_shares(World(tmp_path).task, [])


def test_a_message_that_is_not_what_an_aggregator_derived_itself_counts_nothing(tmp_path):
    """Whoever tells it, and whatever the proofs say: the joint randomness must be the one that it computed."""
    world, _, (leader, helper) = made(tmp_path, count=2)
    for i, party in enumerate((leader, helper)):
        add_files(party, files(tmp_path, i))
        party.look()
    (first, _), (second, share) = leader.store.undecided(2)
    seed = leader.store.states([second])[second][1].seed
    leader.store.decide(world.task.prio3, {first: bytes(32), second: seed})
    assert (leader.store.count(ACCEPTED), leader.store.count(REFUSED)) == (1, 1)
    assert leader.store.told(second) == share
    leader.store.decide(world.task.prio3, {first: seed})  # left out for ever
    assert leader.store.count(ACCEPTED) == 1
