"""The JavaScript client: its own tests, run by Node where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "js"


def _node() -> str | None:
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return node if int(version[1:].split(".")[0]) >= 20 else None


@pytest.mark.skipif(_node() is None, reason="Node.js 20 or newer is not installed")
@pytest.mark.parametrize(("name", "least"), [("vectors", 8), ("client", 8), ("sums", 3)])
def test_the_client_passes_its_tests(name, least):
    run = subprocess.run([_node(), "--test", f"test/{name}.test.js"], cwd=CLIENT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "\n# fail 0\n" in run.stdout
    passed = next(line for line in run.stdout.splitlines() if line.startswith("# pass "))
    assert int(passed.split()[-1]) >= least
