"""What collectors keep: each thing once, durably, in groups."""

from __future__ import annotations

import asyncio
import hashlib

from barrow.collect.issuer import Invitations, new_invitations
from barrow.collect.pool import MessagePool
from barrow.collect.slots import Slots
from barrow.collect.stores import connect, open_store
from barrow.collect.web import GroupCommit


def test_commits_in_groups():
    async def twice():
        commits = GroupCommit(lambda rows: [row * 2 for row in rows])
        return await asyncio.gather(commits.add([1, 2]), commits.add([3]))

    assert asyncio.run(twice()) == [[2, 4], [6]]


def test_what_is_given_once(tmp_path):
    invitations = Invitations(str(tmp_path / "invitations.db"), "sha256:0")
    invitations.invite(["one"])
    answers = invitations.spend([("one", b"a"), ("one", b"a"), ("one", b"b"), ("two", b"a")])
    assert answers == ["accepted", "accepted", "used invitation", "no invitation"]
    assert len(set(new_invitations(3))) == 3
    pool = MessagePool(str(tmp_path / "pool.db"), "sha256:0", 65)
    x, y, z = (bytes([i]) * 64 for i in range(3))
    assert pool.add([x + b"t", x + b"u", z + b"u"]) == ["accepted", "repeated", "accepted"]
    assert pool.add([y + b"t", x + b"t"]) == ["accepted", "repeated"]
    assert (pool.count(), sorted(pool.items())) == (3, [x + b"t", y + b"t", z + b"u"])


def test_what_is_kept(tmp_path):
    store = open_store(str(tmp_path / "reports.db"), "sha256:0")
    assert store.add([(b"a", b"{}"), (b"a", b"{}")], {"malformed": 2}) == [True, False]
    assert (store.count(), store.refused(), list(store.texts())) == (1, {"malformed": 2}, ["{}"])
    built = connect(str(tmp_path / "x.db"), "CREATE TABLE IF NOT EXISTS t (k) ;", "sha256:0")
    assert built.execute("PRAGMA synchronous").fetchone() == (2,)
    slots = Slots(str(tmp_path / "slots"), 32)
    some = [hashlib.sha256(bytes([i])).digest() for i in range(9)]
    for record in some:
        slots.put(record)
    assert (slots.has([some[3], bytes(31) + b"x"]), slots.count()) == ([True, False], 9)
