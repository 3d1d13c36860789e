"""A few kills and a full disk, as ``scripts/load collect`` does by the hundred."""

from __future__ import annotations

import random
import sys

import pytest

from tests.load.collect import full_disk, full_pool, kill_collector, kill_shuffler

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, kills and looks into /proc")


def test_killed_collectors_lose_nothing(tmp_path):
    result = kill_collector(tmp_path, 6, random.Random(1))
    assert (result["lost"], result["twice"]) == (0, 0)


def test_killed_shufflers_lose_nothing(tmp_path):
    result = kill_shuffler(tmp_path, 4, random.Random(2), 800, counted=False, mixes=2)
    assert (result["lost"], result["twice"]) == (0, 0)
    assert result["acknowledged"] == 800


@pytest.mark.parametrize("fill", [full_disk, full_pool], ids=["collector", "shuffler"])
def test_a_full_disk_refuses_and_loses_nothing(tmp_path, fill):
    result = fill(tmp_path)
    assert result["refused"]
    assert result["lost"] == 0
    assert result["accepted_later"]
