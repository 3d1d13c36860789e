"""A small share of ``scripts/faults ledger``: real processes, killed, traced, starved; with controls."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.faults import cuts, kills, postgres, resumes, starve
from tests.postgres_cluster import Cluster, unavailable

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork")
strace = pytest.mark.skipif(cuts.available() is not None, reason=str(cuts.available()))
no_postgres = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
no_warning = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@posix
@no_warning
def test_kill_9() -> None:
    counts = kills.run(20, seed=7, per_round=10)
    assert counts["kills"] == 20
    assert counts["releases"] > 40
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt", "failed", "refused_by_verify")] == [0] * 5


@posix
@no_warning
def test_kill_9_of_spenders_that_read_months() -> None:
    counts = kills.run(12, seed=7, per_round=6, monthly=True)
    assert counts["kills"] == 12
    assert counts["releases"] > 40
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt", "failed", "refused_by_verify")] == [0] * 5


@posix
@no_warning
def test_spenders_overspend_a_month_without_the_lock() -> None:
    assert any(kills.run(2, seed=seed, store="no-lock", monthly=True)["overspent"] for seed in range(12))


@posix
@no_warning
def test_the_kills_can_see_unpaid_releases() -> None:
    assert any(kills.run(20, seed=seed, release_first=True)["unpaid"] for seed in range(5))


@posix
@no_warning
def test_the_spenders_can_overspend_without_the_lock() -> None:
    assert any(kills.run(2, seed=seed, store="no-lock")["overspent"] for seed in range(12))


@posix
@no_warning
def test_kill_9_and_going_on() -> None:
    counts = resumes.run(24, seed=7)
    assert counts["kills"] >= 3  # on a quick machine the spenders are done before most kills
    bad = ("shown_twice", "lost", "not_what_was_committed", "unpaid", "overspent", "corrupt", "failed")
    assert [counts[k] for k in bad] == [0] * 7


@posix
@no_warning
def test_the_kills_can_see_values_that_are_shown_before_they_are_staged() -> None:
    assert any(resumes.run(20, seed=seed, stage=False)["not_what_was_committed"] for seed in range(6))


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with postgres.server() as cluster:
        yield cluster


@no_postgres
@no_warning
def test_kill_9_of_clients_and_server_of_postgres(server: Cluster) -> None:
    counts = postgres.clients(6, seed=7, per_round=6, running=server) + postgres.servers(1, seed=7, running=server)
    assert (counts["kills"], counts["server_kills"]) == (6, 1)
    assert counts["releases"] > 5
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt", "failed", "refused_by_verify")] == [0] * 5


@no_postgres
@no_warning
def test_the_server_kills_can_see_lost_payments(server: Cluster) -> None:
    assert any(postgres.servers(1, seed, store="synchronous-off", running=server)["unpaid"] for seed in range(8))


@strace
def test_power_cuts() -> None:
    counts = cuts.simulate(cuts.record("real", 3), torn=2, seed=7)
    assert counts["cuts"] > 600
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt")] == [0, 0, 0]


@strace
def test_a_second_power_cut_while_the_first_is_mended() -> None:
    counts = cuts.again(cuts.record("real", 2), torn=1, seed=7, starts=2)
    assert counts["second_cuts"] > 60
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt")] == [0, 0, 0]


@strace
@pytest.mark.parametrize("store", ["no-sync", "no-folder-sync"])
def test_the_cuts_can_see_lost_payments(store: str) -> None:
    assert cuts.simulate(cuts.record(store, 2), torn=1, seed=7)["unpaid"] > 0


@strace
@pytest.mark.parametrize(
    ("call", "error", "number"),
    [("pwrite64", "ENOSPC", 14), ("pwrite64", "EIO", 20), ("fdatasync", "EIO", 8), ("fsync", "EIO", 3)],
)
def test_failing_calls(call: str, error: str, number: int) -> None:
    state, counts = starve.one(call, error, "", number, 2)
    assert state == "hit"
    assert counts["fatal"] == 1
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt", "unclear")] == [0] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits here")
@pytest.mark.parametrize("kib", [6, 20, 33])
def test_full_disks(kib: int) -> None:
    counts = starve.full_disk(kib * 1024, 40)
    assert counts["full_disks"] == 1
    assert [counts[k] for k in ("unpaid", "overspent", "corrupt", "unclear")] == [0] * 4
