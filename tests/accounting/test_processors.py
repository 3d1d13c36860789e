"""Every processor finds the same alpha0: a client that plans a card's study again must find what the card says."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from numpy._core import _multiarray_umath as built

FOUND = """
import json, barrow as bw
from barrow.accounting import calibrate_shuffle
from barrow.accounting.blanket import ResponseRandomiser

def shuffled(space, question, **terms):
    plan = bw.Study(space, users=1000, delta="1e-6", model="shuffle", **terms).plan(question)
    return [str(plan.itemwise.randomiser.alpha0_upper), str(plan.guarantee.definition)]

shops = bw.Clustered({"fruit": ["fig", "pear", "plum"], "tool": ["saw", "axe"], "bread": ["rye"]}, r=0.1)
print(json.dumps([
    shuffled(shops, "frequency(items=4)", alpha=3),
    shuffled(bw.Line(0, 11, step=1), "items(items=5, randomiser='exponential')", alpha=6),
    calibrate_shuffle(25, "1e-9", reports=10**6, items=100, randomiser=ResponseRandomiser(10)).methods,
]))
"""


def found(**environment: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", FOUND], capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )
    return json.loads(done.stdout)


def test_alpha0_is_the_same_on_an_older_processor():
    newer = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    older = found(NPY_DISABLE_CPU_FEATURES=" ".join(newer), OPENBLAS_CORETYPE="Nehalem", OPENBLAS_NUM_THREADS="1")
    assert found(OPENBLAS_NUM_THREADS="2") == older
