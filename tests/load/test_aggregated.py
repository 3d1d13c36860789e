"""A few kills of both aggregators and a full disk, as ``scripts/load aggregated`` does by the hundred."""

import random
import sys

import pytest

from tests.load.aggregated import full_disk, kills

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, kills and looks into /proc")


def test_killed_aggregators_count_everything_once_and_draw_once(tmp_path):
    result = kills(tmp_path, 6, 2, random.Random(1))
    assert (result["lost"], result["cheats_counted"], result["noise_told"]) == (0, 0, 1)
    assert result["sets"]
    assert result["exact"]
    assert result["counted"] == result["sent"] == 12


@pytest.mark.parametrize("name", ["leader", "helper"])
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path, name):
    result = full_disk(tmp_path, name)
    assert result["closed"]
    assert result["exact"]
    assert (result["lost"], result["counted"]) == (0, result["acknowledged"])
