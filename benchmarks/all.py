"""Every benchmark, and the page of all figures: ``scripts/bench all [NAME …] [--page] [--list]``.

Each part of ``figures.toml`` is run as a user would run it; the last line of its output, one JSON object, is kept in
docs/benchmarks.json with the machine and the day, and docs/benchmarks.md is made anew from all that is kept. So parts
may be measured one by one, and the page never holds a number that no run printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._timing import finish

Row = tuple[str, float | None, str, str]
_HERE, _MANY = Path(__file__).parent, 20
KEPT, PAGE = _HERE.parent / "docs" / "benchmarks.json", _HERE.parent / "docs" / "benchmarks.md"
_HEAD = """# Benchmarks

Where barrow leads and where not: every figure with what it is measured against, the machine and the day.
`scripts/bench all` measures everything and makes this page; `scripts/bench all NAME` measures one part again. An aim is
what a figure should be; **missed** says that it is not.
"""


def parts() -> list[dict[str, Any]]:
    """What is run, in order."""
    results: list[dict[str, Any]] = tomllib.loads((_HERE / "figures.toml").read_text())["part"]
    return results


def _machine() -> str:
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{cores} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )


def measured(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """One part run: its figures, or None where it failed."""
    command = part.get("command") or [sys.executable, "-m", f"benchmarks.{part['name']}"]
    start, before = time.perf_counter(), os.getloadavg()[0]
    run = subprocess.run([*command, *part.get("options", ())], cwd=_HERE.parent, stdout=subprocess.PIPE, text=True)
    try:
        figures = json.loads(run.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return None
    seconds = round(time.perf_counter() - start)
    day, load = f"{datetime.now(UTC):%Y-%m-%d}", round(max(before, os.getloadavg()[0]), 1)
    return {"machine": _machine(), "day": day, "seconds": seconds, "load": load, "figures": figures}


def met(value: float, aim: str) -> bool | None:
    """Whether a figure is what it should be; None without an aim.

    >>> met(1.2, "<= 1.3"), met(1.2, ">= 2"), met(0.95, "0.94 .. 0.96"), met(3, "")
    (True, False, True, None)
    """
    if not aim:
        return None
    if ".." in aim:
        low, high = (float(end) for end in aim.split(".."))
        return low <= value <= high
    sign, bar = aim.split()
    return value <= float(bar) if sign == "<=" else value >= float(bar)


def _shown(value: float) -> str:
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _rows(part: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Row]:
    """What, value, aim and peer of each line of a part's table."""
    for row in part.get("figures", ()):
        value: Any = figures
        for step in row["key"].split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        yield row["what"], value if isinstance(value, int | float) else None, row["aim"], row["peer"]
    if "every" in part:
        for key, value in sorted(figures.items()):
            if isinstance(value, int | float) and part.get("like", "") in key:
                yield f"`{key}`", value, part["every"], part["every_peer"]


def _short(rows: list[Row]) -> str:
    """One sentence for whoever does not read a long table."""
    known = sorted((value, what) for what, value, _, _ in rows if value is not None)
    least, middle, most = known[0], known[len(known) // 2], known[-1]
    return (
        f"In short: {len(known)} figures, the least {_shown(least[0])} ({least[1]}), the middle one "
        f"{_shown(middle[0])}, the largest {_shown(most[0])} ({most[1]})."
    )


def page(table: Mapping[str, Any]) -> str:
    """The page of everything that was measured."""
    out = [_HEAD]
    missed = 0
    for part in parts():
        known = table.get(part["name"])
        if known is None:
            continue
        command = " ".join([*part.get("command", ["scripts/bench", part["name"]]), *part.get("options", ())])
        out.append(f"\n## {part['title']}\n")
        load = f", {known['load']:g} processes wanted them" if "load" in known else ""
        out.append(f"`{command}`, {known['day']}, {known['machine']}{load}, {known['seconds']:,} s in all.")
        if "note" in part:
            out.append(part["note"])
        rows = list(_rows(part, known["figures"]))
        if len(rows) > _MANY:
            out.append(_short(rows))
        out.append("\n| figure | measured | aim | against |\n|---|---|---|---|")
        for what, value, aim, peer in rows:
            good = value is None or met(value, aim) is not False
            missed += not good
            text = "not measured" if value is None else _shown(value)
            wanted = aim.replace("<=", "at most").replace(">=", "at least").replace("..", "to")
            out.append(
                f"| {what} | {text} | {wanted}{'' if good else ' **missed**'} | {'' if peer == 'none' else peer} |"
            )
    count = {0: "No aim is", 1: "1 aim is"}.get(missed, f"{missed} aims are")
    out.insert(1, f"{count} missed in the last runs.")
    return "\n".join(out) + "\n"


def main() -> None:
    """Run what is asked for, keep what it printed, and make the page."""
    parser = argparse.ArgumentParser(prog="scripts/bench all")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts to measure (all by default)")
    parser.add_argument("--page", action="store_true", help="measure nothing: make the page of what is kept")
    parser.add_argument("--list", action="store_true", help="the names of the parts")
    request = parser.parse_args()
    known = [part["name"] for part in parts()]
    if request.list:
        print("\n".join(known))
        return
    wrong = [name for name in request.names if name not in known]
    if wrong:
        parser.error(f"no part is called {wrong[0]!r}; parts are {', '.join(known)}")
    table: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    failed = []
    for part in parts():
        if request.page or (request.names and part["name"] not in request.names):
            continue
        print(f"{part['name']} …", file=sys.stderr, flush=True)
        result = measured(part)
        if result is None:
            failed.append(part["name"])
            continue
        table[part["name"]] = result
        KEPT.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(table))
    finish({"parts": len(table), "failed": failed})


if __name__ == "__main__":
    main()
