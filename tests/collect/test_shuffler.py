"""The shuffler: only ciphertexts with tokens, no order on the disk, a uniform order in the batch, then nothing."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import chisquare, spearmanr

from barrow.collect import tokens
from barrow.collect.batches import read_batch, write_batch
from barrow.collect.pool import MessagePool
from barrow.collect.shuffler import Shuffler, mix_and_forget, open_pool
from barrow.collect.slots import BUCKET, Slots
from barrow.collect.stores import StoreError
from barrow.collect.web import RefusedError
from barrow.errors import ParameterError
from tests.collect.asking import ask
from tests.collect.world import World, batch_of, item, key, let_in, local_card, sealed, shuffle_card


@pytest.fixture(scope="module")
def card():
    return shuffle_card()


@pytest.fixture(scope="module")
def loose():
    """A card whose front end attests the number of people."""
    return shuffle_card(tokens=False)


@pytest.fixture
def no_sync(monkeypatch):
    """What is not about durability need not wait for the disk."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda handle: None)


def taken(shuffler, *items: bytes) -> list[str]:
    return asyncio.run(shuffler.take(b"".join(items)))


def test_tokens_are_for_one_message_of_this_card(card, tmp_path):
    shuffler = Shuffler(card, open_pool(tmp_path / "pool.db", card))
    first, second = item(card), item(card)
    assert taken(shuffler, first) == ["accepted"]
    # Whoever carries a message cannot put another one in its place, nor make two of one token.
    assert taken(shuffler, sealed(card) + first[64:], second) == ["not let in", "accepted"]
    assert taken(shuffler, first) == ["repeated"]
    assert taken(shuffler, first[:64] + let_in(card, first[:64])) == ["repeated"]
    other = shuffle_card(alpha=9)
    assert taken(shuffler, sealed(card) + let_in(other, sealed(card))) == ["not let in"]
    one = sealed(card)
    assert taken(shuffler, one + let_in(other, one)) == ["not let in"]
    assert taken(shuffler, one + let_in(card, one, by=key("issuer", 2))) == ["not let in"]
    assert taken(shuffler, one + bytes(288)) == ["not let in"]
    assert shuffler.pool.count() == 2
    assert shuffler.pool.refused == {"repeated": 2, "not let in": 5}


def test_without_tokens_only_what_the_front_end_signed_is_taken(loose, tmp_path):
    shuffler = Shuffler(loose, open_pool(tmp_path / "pool.db", loose))
    one = sealed(loose)
    with pytest.raises(RefusedError):
        taken(shuffler, one)
    assert taken(shuffler, one + bytes(64)) == ["not let in"]
    assert taken(shuffler, one + let_in(loose, one, by=key("front", 2))) == ["not let in"]
    assert taken(shuffler, one + let_in(loose, sealed(loose))) == ["not let in"]
    assert taken(shuffler, one + let_in(loose, one)) == ["accepted"]


@pytest.mark.parametrize("size", [0, 1, 63, 65, 351, 353, 352 * 1001])
def test_sizes(card, tmp_path, size):
    shuffler = Shuffler(card, open_pool(tmp_path / "pool.db", card), operator="mine")
    with pytest.raises(RefusedError) as caught:
        taken(shuffler, bytes(size))
    assert caught.value.status in (400, 413)
    status = ask(shuffler.app(), "GET", "/status", secret="mine")[1]
    assert (status["waiting"], status["wanted"], status["closed"]) == (0, 10, False)


def test_too_few_people_are_not_mixed(loose, tmp_path):
    pool = open_pool(tmp_path / "pool.db", loose)
    pool.add([item(loose) for _ in range(9)])
    with pytest.raises(ParameterError, match="9 messages wait"):
        mix_and_forget(loose, pool, tmp_path / "batch", key("shuffler"))
    assert pool.batch is None
    assert pool.add([item(loose)]) == ["accepted"]
    assert mix_and_forget(loose, pool, tmp_path / "batch", key("shuffler")).messages == 10


def test_after_mixing_nothing_is_left(card, tmp_path):
    pool = open_pool(tmp_path / "pool.db", card)
    items = [item(card, i % 4) for i in range(11)]
    pool.add(items)
    head = mix_and_forget(card, pool, tmp_path / "batch", key("shuffler"))
    assert (head.messages, head.left_out, pool.count()) == (10, 1, 0)
    assert set(read_batch(tmp_path / "batch").items()) < set(items)
    left = b"".join(file.read_bytes() for file in tmp_path.glob("pool.db*"))
    assert not any(one[at : at + 16] in left for one in items for at in (0, 48, 64, 336))
    # The same call again says the same; nothing more is taken, and what was taken is known by its digest.
    assert mix_and_forget(card, pool, tmp_path / "batch", key("shuffler")) == head
    with pytest.raises(ParameterError, match="mixed before and deleted"):
        mix_and_forget(card, pool, tmp_path / "other", key("shuffler"))
    assert pool.add([items[0], item(card)]) == ["repeated", "closed"]
    assert open_pool(tmp_path / "pool.db", card).add([items[0], item(card)]) == ["repeated", "closed"]
    with pytest.raises(ParameterError, match="not the one on the card"):
        mix_and_forget(card, pool, tmp_path / "batch", key("shuffler", 2))


def test_late_messages_are_told_that_it_is_closed(card, tmp_path):
    """Another process mixes and empties the file, which had grown, under a service that goes on."""
    serving = open_pool(tmp_path / "pool.db", card)
    app = Shuffler(card, serving, operator="mine").app()
    first = item(card)
    assert ask(app, "POST", "/messages", first) == (200, {"lines": ["accepted"]})
    serving.add([item(card) for i in range(10)])
    serving._messages._grow()
    mix_and_forget(card, open_pool(tmp_path / "pool.db", card), tmp_path / "batch", key("shuffler"))
    late = [item(card) for _ in range(24)]  # half of all buckets are gone: 2^-24 that none is meant
    told = [ask(app, "POST", "/messages", each) for each in late]
    assert told == [(410, {"problem": "closed: the messages of this card were mixed"})] * 24
    assert ask(app, "POST", "/messages", late[0] + first) == (200, {"lines": ["closed", "repeated"]})
    status = ask(app, "GET", "/status", secret="mine")[1]
    assert (status["waiting"], status["closed"], status["errors"]) == (0, True, 0)


def test_two_who_mix_at_the_same_time_make_one_batch(loose, tmp_path, monkeypatch):
    """The second comes while the first writes its batch, and waits; then there is nothing left to mix."""
    pool = open_pool(tmp_path / "pool.db", loose)
    pool.add([item(loose) for _ in range(10)])
    writing, go_on, ends = threading.Event(), threading.Event(), {}

    def slowly(*args, **named):
        writing.set()
        assert go_on.wait(60)
        return write_batch(*args, **named)

    def mix(name):
        try:
            mine = open_pool(tmp_path / "pool.db", loose)
            ends[name] = mix_and_forget(loose, mine, tmp_path / name, key("shuffler")).id
        except ParameterError as error:
            ends[name] = error.problem

    monkeypatch.setattr("barrow.collect.shuffler.write_batch", slowly)
    first, second = (threading.Thread(target=mix, args=[name]) for name in ("a.batch", "b.batch"))
    first.start()
    assert writing.wait(60)
    writing.clear()
    second.start()
    entered = writing.wait(1)  # it would be about to write a batch of its own; if not, it waits for its turn
    go_on.set()
    first.join(60)
    second.join(60)
    assert not entered
    assert sorted(file.name for file in tmp_path.glob("*.batch")) == ["a.batch"]
    assert ends == {"a.batch": pool.batch, "b.batch": "These messages were mixed before and deleted."}


def test_an_interrupted_mixing_goes_on(loose, tmp_path, monkeypatch):
    pool = open_pool(tmp_path / "pool.db", loose)
    pool.add([item(loose) for _ in range(10)])
    with monkeypatch.context() as patch:
        patch.setattr(MessagePool, "forget", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            mix_and_forget(loose, pool, tmp_path / "batch", key("shuffler"))
    again = open_pool(tmp_path / "pool.db", loose)
    head = mix_and_forget(loose, again, tmp_path / "batch", key("shuffler"))
    assert (head.id, again.count()) == (again.batch, 0)


def uniform(orders: Counter, kinds: int) -> float:
    return float(chisquare([orders.get(i, 0) for i in range(kinds)]).pvalue)


@pytest.mark.parametrize("in_memory", [100, 2], ids=["in memory", "by files"])
def test_the_order_of_a_batch_is_uniform(tmp_path, in_memory, no_sync):
    """All orders of four messages are equally likely; a mixing that leaves one place alone would be seen."""
    some = [bytes([i]) * 64 for i in range(4)]
    number = {order: i for i, order in enumerate(permutations(range(4)))}
    orders: Counter = Counter()
    for i in range(300):
        place = tmp_path / str(i)
        about = {"card": "sha256:0", "name": "0", "count": 4, "people_of": 1, "size": 64, "in_memory": in_memory}
        write_batch(place, some, key("shuffler"), **about)
        orders[number[tuple(message[0] for message in read_batch(place).items())]] += 1
    assert uniform(orders, 24) > 1e-4
    stays = Counter({number[(0, *rest)]: 100 for rest in permutations(range(1, 4))})
    assert uniform(stays, 24) < 1e-10


def test_positions_say_nothing_about_arrival(loose, tmp_path):
    pool = open_pool(tmp_path / "pool.db", loose)
    came = [os.urandom(128) for _ in range(3000)]
    for start in range(0, 3000, 50):
        pool.add(came[start : start + 50])
    mix_and_forget(loose, pool, tmp_path / "batch", key("shuffler"))
    place = {message: i for i, message in enumerate(read_batch(tmp_path / "batch").items())}
    assert {len(message) for message in place} == {128}
    assert spearmanr(range(3000), [place[message] for message in came]).pvalue > 1e-4


def test_the_disk_says_nothing_about_arrival(loose, tmp_path, monkeypatch):
    """Where messages lie says nothing about when they came; it would if each took the first free slot."""
    came = [os.urandom(128) for _ in range(2500)]

    def places(name: str) -> list[int]:
        pool = open_pool(tmp_path / name, loose)
        for start in range(0, 2500, 50):
            pool.add(came[start : start + 50])
        assert sorted(file.name for file in tmp_path.glob(f"{name}*") if file.stat().st_size) == [
            name, f"{name}-shm", f"{name}-wal", f"{name}.messages", f"{name}.taken"
        ]  # fmt: skip
        for file in (name, f"{name}-wal", f"{name}.taken"):
            other = (tmp_path / file).read_bytes()
            assert not any(message[:8] in other for message in came[:50])
        data = (tmp_path / f"{name}.messages").read_bytes()
        at = {data[i + 32 : i + 160]: i for i in range(0, len(data), 256)}
        return [at[message] for message in came]

    def in_order(found: list[int]) -> float:
        """How often, of two messages in one bucket, the earlier one lies before the later one."""
        by_bucket: dict[int, list[int]] = {}
        for place in found:
            by_bucket.setdefault(place // BUCKET, []).append(place)
        return float(np.mean([a < b for places in by_bucket.values() for a, b in pairwise(places)]))

    result = places("pool.db")
    assert spearmanr(range(2500), result).pvalue > 1e-4
    assert 0.45 < in_order(result) < 0.55
    monkeypatch.setattr(Slots, "_choose", lambda self, flags: flags.find(0))
    assert in_order(places("first.db")) > 0.6


def test_slots_are_uniform_whatever_the_order(tmp_path, no_sync):
    """Three records of one bucket: where they lie after all orders of arrival has one distribution, by growing too."""
    pairs: Counter = Counter()
    for i in range(40):
        slots = Slots(tmp_path / str(i), 256, fewest=16)
        threes = [[bytes([16 * j + k + 1]) * 8 + bytes([k]) * 248 for k in range(3)] for j in range(16)]
        for record in [record for three in threes for record in three]:
            slots.put(record)
        if i % 2:
            slots._grow()
        data = slots.path.read_bytes()
        for three in threes:
            a, b, c = (data.index(record) for record in three)
            assert a // BUCKET == b // BUCKET == c // BUCKET
            pairs[(a < b) + 2 * (b < c)] += 1
        slots.close()
    # Of the six orders one rises twice, one falls twice, and two each do one thing and then the other.
    assert chisquare([pairs[i] for i in range(4)], np.array([1, 2, 2, 1]) * 640 / 6).pvalue > 1e-4


def test_slots_grow_and_are_found(tmp_path):
    slots = Slots(tmp_path / "slots", 128, fewest=16)
    records = [(hashlib.sha256(bytes([i % 256, i // 256])).digest() * 4) for i in range(4000)]
    for record in records:
        slots.put(record)
    again = Slots(tmp_path / "slots", 128, fewest=16)
    assert slots.has([record[:32] for record in records]) == again.has([record[:32] for record in records])
    assert all(again.has([record[:32] for record in records]))
    assert not any(again.has([bytes([i]) * 32 for i in range(1, 200)]))
    assert {row.tobytes() for rows in again.chunks() for row in rows} == set(records)
    assert os.listdir(tmp_path) == ["slots"]
    slots.erase()
    assert slots.count() == 0
    assert not any((tmp_path / "slots").read_bytes())


def test_a_killed_pool_mends_itself(card, tmp_path):
    """What was half written, or half grown, is gone."""
    pool = open_pool(tmp_path / "pool.db", card)
    subset = [os.urandom(352) for _ in range(5)]
    pool.add(subset)
    torn = os.urandom(352)
    for record in (
        hashlib.sha256(b"x").digest() + bytes(480),
        pool._record(pool._digest(torn), torn)[:200] + bytes(312),  # the message is whole, what lets it in is not
    ):
        pool._messages.put(record)
    (tmp_path / "pool.db.messages.new").write_bytes(b"half")
    os.link(tmp_path / "pool.db.messages", tmp_path / "pool.db.messages.old")
    again = open_pool(tmp_path / "pool.db", card)
    assert sorted(again.items()) == sorted(subset)
    assert again.add([subset[3], torn]) == ["repeated", "accepted"]
    assert not list(tmp_path.glob("*.new")) + list(tmp_path.glob("*.old"))
    with pytest.raises(ParameterError, match="another card"):
        open_pool(tmp_path / "pool.db", shuffle_card(alpha=9))
    again.close()
    (tmp_path / "pool.db.taken").write_bytes(b"short")
    with pytest.raises(ParameterError, match="not whole"):
        open_pool(tmp_path / "pool.db", card)


def test_a_full_disk_and_a_failed_sync(card, tmp_path, monkeypatch):
    pool = open_pool(tmp_path / "pool.db", card)
    told = [one for one in (os.urandom(352) for _ in range(5)) if pool.add([one]) == ["accepted"]]

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Slots, "_free", lambda *_: -1)
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(StoreError):
            pool.add([os.urandom(352)])
    assert pool.add([os.urandom(352)]) == ["accepted"]
    lost = os.urandom(352)
    with monkeypatch.context() as patch:
        patch.setattr(Slots, "sync", full)
        with pytest.raises(StoreError):
            pool.add([lost])
    with pytest.raises(StoreError):  # it is found in memory, and nobody knows whether it is on the disk
        pool.add([lost])
    again = open_pool(tmp_path / "pool.db", card)
    assert len(told) == 5
    assert set(told) < set(again.items())


def test_an_interrupted_forgetting_goes_on(loose, tmp_path, monkeypatch):
    pool = open_pool(tmp_path / "pool.db", loose)
    pool.add([item(loose) for _ in range(12)])
    with monkeypatch.context() as patch:
        patch.setattr(Slots, "erase", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            mix_and_forget(loose, pool, tmp_path / "batch", key("shuffler"))
    assert open_pool(tmp_path / "pool.db", loose).count() == 0
    assert not any((tmp_path / "pool.db.messages").read_bytes())


def test_linking_gains_nothing(loose, tmp_path, no_sync):
    """Who sees the batch and guesses that neighbours belong to one person is right as often as by chance."""
    right = total = 0
    for run in range(20):
        pool = open_pool(tmp_path / f"{run}.db", loose)
        people = [[os.urandom(128), os.urandom(128)] for _ in range(10)]
        owner = {message: i for i, pair in enumerate(people) for message in pair}
        for pair in people:
            pool.add(pair)
        mix_and_forget(loose, pool, tmp_path / f"{run}.batch", key("shuffler"))
        order = [owner[message] for message in read_batch(tmp_path / f"{run}.batch").items()]
        right += sum(a == b for a, b in pairwise(order))
        total += 19
    chance = 1 / 19  # one of the other nineteen is of the same person
    assert abs(right / total - chance) < 5 * np.sqrt(chance / total)


def test_the_wrong_kind_of_card(tmp_path):
    with pytest.raises(ParameterError, match="local"):
        Shuffler(local_card(), MessagePool(tmp_path / "pool.db", "sha256:0", 128))


@pytest.mark.parametrize("content", [b"", b"{}\n", b"<html>", b'{"barrow":"sealed batch"', b"\xff\n"])
def test_what_is_no_batch(tmp_path, content):
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(ParameterError):
        read_batch(tmp_path / "batch")


def test_a_cut_batch_is_refused(loose, tmp_path):
    place = tmp_path / "batch"
    batch_of(loose, place, [os.urandom(128) for _ in range(4)])
    whole = place.read_bytes()
    for cut in (whole[:-1], whole + b"x", whole[:-64], whole[: -64 - 128] + whole[-64:]):
        place.write_bytes(cut)
        with pytest.raises(ParameterError, match="not whole"):
            read_batch(place)


def test_the_issuer(card, tmp_path):
    world = World(tmp_path, card, people=2)
    app = world.issuer.app()
    requests = ["A" * 342, "B" * 342]
    good = '{"invitation":"%s","blinded":%s}'
    import json

    def asked(code, blinded):
        return ask(app, "POST", "/tokens", (good % (code, json.dumps(blinded))).encode())

    from barrow.collect.keys import b64

    public = key("issuer").public_key()
    requests = [b64(tokens.blind(public, b"x").request) for _ in range(3)]
    status, first = asked(world.codes[0], requests[:2])
    assert status == 200
    assert asked(world.codes[0], requests[:2]) == (200, first)
    assert asked(world.codes[0], requests[1:]) == (403, {"problem": "used invitation"})
    assert asked("nobody", requests[:2]) == (403, {"problem": "no invitation"})
    # The last is larger than the key's modulus: it can never be signed.
    for bad in (
        [],
        requests[:1],
        requests,
        [requests[0]] * 2,
        ["A"] * 2,
        ["_" * 342] * 2,
        [requests[0], b64(b"\xff" * 256)],
    ):
        assert asked(world.codes[1], bad)[0] == 400
    assert ask(app, "POST", "/tokens", b"{}")[0] == 400
    assert world.invitations.counts()["used"] == 1  # nothing malformed used up the second invitation
    assert asked(world.codes[1], requests[1:])[0] == 200
    world.stop()


def test_nobody_outside_knows_where_a_message_will_lie(tmp_path):
    ours, other = (MessagePool(tmp_path / name, "sha256:0", 65) for name in ("a.db", "b.db"))
    message = bytes(65)
    assert ours.add([message]) == ["accepted"]
    assert ours._digest(message) != other._digest(message)
    ours.close()
    assert MessagePool(tmp_path / "a.db", "sha256:0", 65).add([message]) == ["repeated"]  # the key is kept
