"""Slow and silent clients keep nobody else waiting, and hold no memory."""

from __future__ import annotations

import sys

import pytest

from tests.collect.world import local_card
from tests.load.services import collector
from tests.load.slow import ATTACKS, attack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("rate", [0, 10**6], ids=["behind a proxy", "by address"])
def test_everybody_else_is_answered(tmp_path, name, rate):
    """With addresses limited the well-behaved client has the attackers' own address, which is the harder case."""
    card = local_card()
    service = collector(card, tmp_path / "reports.db", rate=rate)
    try:
        assert service.wait_until_open()
        result = attack(service, card, name)
    finally:
        service.kill()
    assert result["survived"], result
