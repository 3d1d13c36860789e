"""What a person's client costs: processor seconds of a client and a report in a fresh process, and of the next client.

Modules that a client loads are in the first figure; ``import barrow`` and the study are not.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks._timing import finish

ASKED = ("mean", "distance(to=3)", "items(items=2)", "frequency(items=2)", "histogram(mechanism='tree')", "histogram")
_REPORT = """
import json, sys, tempfile, time
import barrow as bw
study = bw.Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=2000, model="local")
found = []
with tempfile.TemporaryDirectory() as folder:
    for person in "ab":
        start = time.process_time()
        bw.Client(study, sys.argv[1], memory=f"{folder}/{person}.json").report([20, 30])
        found.append(time.process_time() - start)
print(json.dumps(found))
"""


def client(text: str, runs: int = 3) -> tuple[float, float]:
    """The first client and the second, each the least of several fresh processes."""
    built = [subprocess.run([sys.executable, "-c", _REPORT, text], capture_output=True, text=True, check=True).stdout
            for _ in range(runs)]  # fmt: skip
    first, second = zip(*(json.loads(line) for line in built), strict=True)
    return min(first), min(second)


def main() -> None:
    """Print a line for each question, and all figures as JSON."""
    figures: dict[str, float] = {}
    for request in ASKED:
        first, second = client(request)
        print(f"{request:30} first {first:.3f} s, next {second:.3f} s")
        figures |= {f"{request} first": first, f"{request} next": second}
    finish(figures)


if __name__ == "__main__":
    main()
