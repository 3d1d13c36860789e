"""``scripts/fuzz``: throws malformed inputs at every parser; anything but a BarrowError is a traceback.

Then shares, distances, epsilons and promises in words are read by barrow and by a second reader, which must agree, and
releases of every kind are forged, which ``barrow verify`` must notice. The last line is one JSON object: ``inputs``,
``tracebacks``, ``slow`` (inputs that took longer than allowed), ``texts``, ``forgeries``, ``undetected`` (texts that
barrow reads otherwise, or too generously, and forgeries that it believes) and how many wrong readers were found out.
"""

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from barrow.errors import BarrowError
from tests.fuzz import forgeries, texts
from tests.fuzz.targets import targets

SLOW = 10
"""Seconds of the processor's time after which an input is stopped and counted, whatever else the machine does."""
EXPENSIVE = {"csv": 40, "events": 2, "randomisers": 2}
"""Targets that are tried only every so many rounds."""


class TookTooLongError(Exception):
    """An input that was stopped."""


def _stop(*_: object) -> None:
    raise TookTooLongError


def run(inputs: int, seconds: float, seed: int, only: list[str] | None = None, *, show: int = 20) -> dict[str, object]:
    """Tries ``inputs`` inputs, or as many as ``seconds`` allow."""
    warnings.simplefilter("ignore")
    known = {name: target for name, target in targets().items() if not only or name in only}
    tried: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    places: Counter[str] = Counter()
    slow = 0
    signal.signal(signal.SIGPROF, _stop)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number = 0
        while sum(tried.values()) < inputs and time.monotonic() < end:
            number += 1
            for target, attempt in known.items():
                if number % EXPENSIVE.get(target, 1):
                    continue
                tried[target] += 1
                case = f"{seed}/{target}/{number}"
                try:
                    signal.setitimer(signal.ITIMER_PROF, SLOW)
                    attempt(random.Random(case), folder)
                    accepted[target] += 1
                except BarrowError:
                    pass
                except TookTooLongError:
                    slow += 1
                    print(f"slow: {case}", file=sys.stderr)
                except (Exception, RecursionError) as error:
                    last = traceback.extract_tb(error.__traceback__)
                    inside = [f for f in last if "/barrow/" in f.filename] or list(last)
                    place = f"{target}: {type(error).__name__} at {Path(inside[-1].filename).name}:{inside[-1].lineno}"
                    places[place] += 1
                    if places[place] == 1 and len(places) <= show:
                        print(f"{place} ({case}): {str(error)[:200]!r}", file=sys.stderr)
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
    return {
        "inputs": sum(tried.values()),
        "tracebacks": sum(places.values()),
        "slow": slow,
        "accepted": sum(accepted.values()),
        "targets": dict(sorted(tried.items())),
        "places": dict(places),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=24_000)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--only", action="append", help="a target, texts or forgeries")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    inputs = 0 if given.only and {*given.only} <= {"texts", "forgeries"} else given.inputs
    result = run(inputs, given.seconds, given.seed, given.only)
    if not given.only or "texts" in given.only:
        result |= texts.run(given.texts, given.seed)
    if not given.only or "forgeries" in given.only:
        believed = result.get("undetected", 0)
        result |= forgeries.run()
        result["undetected"] += believed
    print(json.dumps(result))
    wrong = result["tracebacks"], result["slow"], result.get("undetected", 0), result.get("plants_missed", 0)
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
