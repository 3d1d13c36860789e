"""Leader and helpers as services: everything is checked by each, counted once, and told to nobody else."""

import asyncio
import json
import time

import msgspec
import pytest

from barrow.collect.admission import attest
from barrow.collect.aggregator import Aggregator, add_shares
from barrow.collect.client import SendError
from barrow.collect.posting import post_bytes
from barrow.collect.share_messages import SealedReport, message_size
from barrow.collect.share_store import ACCEPTED, ShareStore
from barrow.collect.sum_service import HELPER_GRACE, HelperService, LeaderService, Wire, Worker
from barrow.collect.web import HttpRequest, Reply
from barrow.errors import ParameterError
from tests.collect.asking import ask, served
from tests.collect.sums.world import VERIFY, World


class Parties:
    """A leader and its helpers, without a network."""

    def __init__(self, world):
        self.world = world
        self.leader = world.aggregator(0)
        self.helpers = [world.aggregator(i) for i in range(1, len(world.keys))]
        self.app = LeaderService(self.leader, {"a": "card"}).app()
        self.apps = [
            HelperService(helper, Wire(world.task, VERIFY, i), fewest=1).app()
            for i, helper in enumerate(self.helpers, 1)
        ]
        self.asked = []
        self.worker = Worker(self.leader, [f"h{i}" for i in range(len(self.apps))], VERIFY, self.post)

    def post(self, address, body, kind):
        place, path = address.split("/")
        self.asked.append(path)

        async def answered():
            result = self.apps[int(place[1:])].find(HttpRequest("POST", "/" + path))
            return result if isinstance(result, Reply) else await self.apps[int(place[1:])].answer(result, body)

        answer = asyncio.run(answered())
        return answer.status, answer.body

    def send(self, bodies):
        return ask(self.app, "POST", "/reports", b"".join(bodies))


def body(world, values=None, admission=None):
    sealed, _ = world.report(values)
    return sealed.body(admission or attest(world.front, world.card, sealed.signed))


@pytest.mark.parametrize("aggregators", [2, 3])
def test_posted_checked_closed_and_exact(tmp_path, aggregators):
    world = World(tmp_path, aggregators)
    parties, people = Parties(world), [world.values() for _ in range(5)]
    bodies = [body(world, values) for values in people]
    assert parties.send(bodies) == (200, {"lines": ["accepted"] * 5})
    assert parties.send(bodies[:2]) == (200, {"lines": ["repeated"] * 2})
    assert parties.worker.turn() == 5
    assert parties.worker.turn() == 0
    shares = parties.worker.close(fewest=1)
    result = add_shares(world.task, shares)
    assert (result.reports, result.values) == (5, [sum(column) for column in zip(*people, strict=True)])
    assert add_shares(world.task, parties.worker.close()) == result
    assert world.draws == aggregators
    assert parties.send([body(world)])[0] == 410
    assert parties.send(bodies)[1] == {"lines": ["repeated"] * 5}
    assert ask(parties.app, "GET", "/card") == (200, {"a": "card"})


def test_the_helper_checks_who_is_let_in_itself(tmp_path, monkeypatch):
    world = World(tmp_path)
    parties = Parties(world)
    stranger = body(world, admission=bytes(64))
    assert parties.send([stranger]) == (200, {"lines": ["not let in"]})
    # A leader that invents people: it stores what nobody let in.
    monkeypatch.setattr(type(world.task.gate), "lets_in", lambda *_: True)
    assert parties.send([stranger]) == (200, {"lines": ["accepted"]})
    monkeypatch.undo()
    assert parties.worker.turn() == 1
    assert [party.store.count(ACCEPTED) for party in (parties.leader, *parties.helpers)] == [0, 0]
    assert parties.helpers[0].store.refused() == {"not let in": 1}


def test_after_a_crash_at_any_step_everything_is_counted_once(tmp_path):
    world = World(tmp_path)
    parties, people = Parties(world), [world.values() for _ in range(3)]
    parties.send([body(world, values) for values in people])
    plain = parties.post
    for lost in ("shares", "verifiers", "closing", "sum"):

        def failing(address, data, kind, lost=lost):
            answer = plain(address, data, kind)  # the helper has done its part, and the leader does not hear of it
            if address.endswith(lost):
                raise SendError("killed")
            return answer

        parties.worker = Worker(parties.leader, ["h0"], VERIFY, failing)
        with pytest.raises(SendError):
            parties.worker.close(fewest=1)
        parties.leader = world.aggregator(0)
    result = add_shares(world.task, Worker(parties.leader, ["h0"], VERIFY, plain).close())
    assert (result.reports, result.values) == (3, [sum(column) for column in zip(*people, strict=True)])
    assert world.draws == 2


def test_nobody_but_the_leader_tells_a_helper_anything(tmp_path):
    world = World(tmp_path)
    parties = Parties(world)
    wire, other = Wire(world.task, VERIFY, 1), Wire(world.task, bytes(32), 1)
    for data in (b"", other.wrap("closing", b""), wire.wrap("shares", b""), wire.wrap("closing", b"")[:-1] + b"x"):
        assert ask(parties.apps[0], "POST", "/closing", data) == (401, {"problem": "for the leader of this card only"})
    assert not parties.helpers[0].store.closed
    assert ask(parties.apps[0], "POST", "/sum", wire.wrap("sum", b"[]"))[1]["problem"].startswith("This helper has not")
    assert ask(parties.apps[0], "POST", "/shares", wire.wrap("shares", b"x"))[0] == 400
    assert ask(parties.apps[0], "POST", "/closing", wire.wrap("closing", b""))[0] == 409  # too few reports
    parties.worker = Worker(parties.leader, ["h0"], bytes(32), parties.post)
    parties.send([body(world)])
    with pytest.raises(SendError, match="refused with status 401"):
        parties.worker.turn()


def test_what_answers_in_a_helpers_place_is_not_believed(tmp_path):
    world = World(tmp_path)
    parties = Parties(world)
    parties.send([body(world)])
    for answer in (b"", b"x" * 40, Wire(world.task, VERIFY, 1).wrap("shares answer", b"\x01")):
        parties.worker = Worker(parties.leader, ["h0"], VERIFY, lambda *_, answer=answer: (200, answer))
        with pytest.raises(SendError, match="not this card's helper"):
            parties.worker.turn()
    with pytest.raises(ParameterError, match="2 helpers are named, and the card has 1"):
        Worker(parties.leader, ["a", "b"], VERIFY, parties.post)


def test_a_helper_that_answers_in_another_ones_name_or_nonsense_has_nothing_written(tmp_path):
    world = World(tmp_path)
    parties, plain = Parties(world), Wire(world.task, VERIFY, 1)
    parties.send([body(world)])
    for kind in ("closing", "sum"):
        for change in (lambda line: {**line, "aggregator": 0}, lambda line: {**line, "card": "x"}, lambda _: {}):

            def forged(address, data, form, kind=kind, change=change):
                status, answer = parties.post(address, data, form)
                line = plain.unwrap(f"{kind} answer", answer) if status == 200 else None
                if line is None or line[:1] != b"{":
                    return status, answer
                return status, plain.wrap(f"{kind} answer", json.dumps(change(json.loads(line))).encode())

            with pytest.raises(SendError, match=f"What the helper sent is no {kind} of its own"):
                Worker(parties.leader, ["h0"], VERIFY, forged).close(fewest=1)
    own = parties.worker.close(fewest=1)
    assert add_shares(world.task, own).reports == 1
    # A leader that changes its mind about its own share learns nothing more, and is told so.
    other = json.dumps([{**json.loads(msgspec.json.encode(parties.leader.close())), "commitment": "sha256:0"}]).encode()
    status, answer = ask(parties.apps[0], "POST", "/sum", plain.wrap("sum", other))
    assert (status, answer["problem"]) == (
        409,
        "Another aggregator sent two different closings; no share is written.",
    )


def test_too_few_reports_close_nothing_and_more_may_come(tmp_path):
    world = World(tmp_path)
    parties = Parties(world)
    parties.send([body(world)])
    with pytest.raises(ParameterError, match="1 reports were counted"):
        parties.worker.close()
    assert parties.send([body(world)]) == (200, {"lines": ["accepted"]})
    assert world.draws == 0


def test_a_helper_that_waits_for_more_or_is_gone_keeps_the_leader_open(tmp_path):
    world = World(tmp_path, 3)
    parties = Parties(world)
    parties.apps[1] = HelperService(parties.helpers[1], Wire(world.task, VERIFY, 2), fewest=2).app()
    parties.send([body(world)])
    with pytest.raises(SendError, match=r"helper2 refused with status 409\. 1 reports were counted"):
        parties.worker.close(fewest=1)
    assert not any(party.store.closed for party in (parties.leader, *parties.helpers))
    parties.send([body(world)])

    def gone(*_):
        raise SendError("Nobody answers.")

    with pytest.raises(SendError):
        Worker(parties.leader, ["h0", "h1"], VERIFY, gone).close(fewest=1)
    assert parties.send([body(world)]) == (200, {"lines": ["accepted"]})
    assert world.draws == 0
    assert add_shares(world.task, parties.worker.close(fewest=1)).reports == 3


def test_a_helper_that_is_busy_is_asked_again_and_blocks_fit_into_bodies(tmp_path, monkeypatch):
    monkeypatch.setattr("barrow.collect.sum_service._PAUSE", 0)
    world = World(tmp_path, 3)
    parties, turns = Parties(world), []
    parties.send([body(world) for _ in range(5)])

    def busy(*arguments):
        turns.append(1)
        return (429, b"") if len(turns) % 3 else parties.post(*arguments)

    row = 16 + 2 * world.task.prio3.verifier_size + message_size(world.task, 1)
    monkeypatch.setattr("barrow.collect.sum_service.MOST_BYTES", 2 * row + 1)
    worker = Worker(parties.leader, ["h0", "h1"], VERIFY, busy)
    assert [worker.turn() for _ in range(4)] == [2, 2, 1, 0]
    with pytest.raises(SendError, match="status 429"):
        Worker(parties.leader, ["h0", "h1"], VERIFY, lambda *_: (429, b"")).close(fewest=1)
    assert add_shares(world.task, worker.close(fewest=1)).reports == 5


def test_sizes_ends_and_numbers(tmp_path):
    world = World(tmp_path, people=1)
    parties = Parties(world)
    good = body(world)
    assert parties.send([good[:-1]])[0] == 400
    assert parties.send([])[0] == 400
    assert parties.send([good, body(world)]) == (200, {"lines": ["accepted", "too many"]})
    message = SealedReport(*world.report()[0]).message(0, bytes(64))
    assert parties.send([message + bytes(len(good) - len(message))])[1] == {"lines": ["other aggregator"]}
    status = ask(LeaderService(parties.leader, {}, operator="x" * 32).app(), "GET", "/status", secret="x" * 32)[1]
    assert (status["counted"], status["waiting"], status["closed"]) == (0, 1, False)
    assert status["refused"] == {"other aggregator": 1, "too many": 1}
    world.task.__dict__["expires"] = time.time() - 1
    assert parties.send([good])[0] == 410
    late = Aggregator(
        world.task, 1, ShareStore(tmp_path / "late.db", world.card, 1), world.keys[1], VERIFY, grace=HELPER_GRACE
    )
    _, messages = world.report()
    assert late.add([messages[1]]) == ["accepted"]
    assert parties.helpers[0].add([messages[1]]) == ["expired"]


def test_over_the_loopback(tmp_path):
    world = World(tmp_path)
    leader, helper = world.aggregator(0), world.aggregator(1)
    people = [world.values() for _ in range(3)]
    with served(HelperService(helper, Wire(world.task, VERIFY, 1), fewest=1).app()) as there:
        with served(LeaderService(leader, {}).app()) as here:
            for values in people:
                status, answer = post_bytes(f"{here}/reports", body(world, values), "application/octet-stream")
                assert (status, json.loads(answer)) == (200, {"lines": ["accepted"]})
        shares = Worker(world.aggregator(0), [there], VERIFY, post_bytes).close(fewest=1)
    assert add_shares(world.task, shares).values == [sum(column) for column in zip(*people, strict=True)]
