"""The mark of tests that take long and say more of the same."""

from __future__ import annotations

import os

import pytest

thorough = pytest.mark.skipif("BARROW_THOROUGH" not in os.environ, reason="it takes long: set BARROW_THOROUGH=1")
