"""What a person's client costs: processor seconds of a client and a report in a fresh process, and of the next client.

Modules that a client loads are in the first figure; ``import barrow`` and the study are not. What a histogram is made
by is chosen once, by whoever publishes the survey, and named in it (``Survey.question``): "histogram, named" is what a
client of such a survey does, "histogram" what one does that chooses for itself.
"""

from __future__ import annotations

import json
import subprocess
import sys

import barrow as bw
from barrow.local.client import Survey
from benchmarks._timing import finish

ASKED = ("mean", "distance(to=3)", "items(items=2)", "frequency(items=2)", "histogram(mechanism='tree')", "histogram")
_STUDY = ("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"])
_REPORT = """
import json, sys, tempfile, time
import barrow as bw
study = bw.Study(*json.loads(sys.argv[2]), users=2000, model="local")
question = json.loads(sys.argv[1])
found = []
with tempfile.TemporaryDirectory() as folder:
    for person in "ab":
        start = time.process_time()
        bw.Client(study, question, memory=f"{folder}/{person}.json").report([20, 30])
        found.append(time.process_time() - start)
print(json.dumps(found))
"""


def client(request: object, runs: int = 3) -> tuple[float, float]:
    """The first client and the second, each the least of several fresh processes."""
    command = [sys.executable, "-c", _REPORT, *map(json.dumps, (request, _STUDY))]
    built = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(runs)]
    first, second = zip(*(json.loads(line) for line in built), strict=True)
    return min(first), min(second)


def main() -> None:
    """Print a line for each question, and all figures as JSON."""
    figures: dict[str, float] = {}
    survey = Survey(bw.Study(*_STUDY, users=2000, model="local"), "histogram")
    asked = {**{text: text for text in ASKED}, "histogram, named": survey.question.to_spec()}
    for name, request in asked.items():
        first, second = client(request)
        print(f"{name:30} first {first:.3f} s, next {second:.3f} s")
        figures |= {f"{name} first": first, f"{name} next": second}
    finish(figures)


if __name__ == "__main__":
    main()
