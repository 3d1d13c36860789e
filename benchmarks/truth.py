"""Whether what is said about accuracy is true of real records: ``scripts/bench truth [--quick] [--only KIND]``.

Lines, maps, trees and products from packages that carry data (``_real_sets``), raw, through studies. Each setting is
released once with a ledger; more draws go through the same plan. No setting was chosen by its result. Sets by
which something was chosen are named in the output; figures of the others stand beside those of all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from typing import Any

import numpy as np

from barrow.study import Study
from benchmarks import _real_sets
from benchmarks._intervals_truth import Held
from benchmarks._real_sets import RealSet
from benchmarks._timing import finish
from benchmarks._truth import SORTS, Draws, Found, Setting, measured
from benchmarks._truth_decoders import extremes
from benchmarks._truth_pictures import save
from benchmarks._truth_tables import save as save_tables

PEOPLE = (300, 3000, 30_000)
FEW = 20
"""A set counts for the worst one if it has so many intervals of a sort."""
FLOOR = 0.02
"""The best decoder in hindsight counts as no better than this share of isotonic regression: one spike would be 0."""
SOURCES = {
    "one release of each setting through study.release with a ledger, tables and statement read back": [
        "before_within", "before_most_within", "error_after of that release, and its intervals of items",
    ],
    "more draws of the same plan with the system's noise (plan.noise, plan.decoded, released_shares, error_after)": [
        "true errors", "after_within", "coverages", "decoder_vs_best", "merged_any_miss", "median_*",
    ],
}  # fmt: skip


def _sizes(of: RealSet) -> list[int]:
    """Numbers of people that the set has, and all of them where they are fewer than the next."""
    there = len(np.unique(of.records()[0]))
    return [most for i, most in enumerate(PEOPLE) if i == 0 or there > PEOPLE[i - 1]]


def settings_of(of: RealSet, draws: Draws, sizes: Sequence[int] | None = None) -> list[Setting]:
    """What is asked about a set: promises about as fine as its cells, by the mechanism that a study chooses."""
    sizes = _sizes(of) if sizes is None else list(sizes)
    ends = sorted({sizes[0], sizes[-1]})
    if of.kind == "line":
        gaps = Study(of.space, alpha=1).space.items - 1
        by_cells = "histogram(mechanism='cells')"
        cells = [Setting(of, by_cells, {"alpha": 3 * gaps}, most, draws) for most in sizes]
        promise = {"promises": [f"all, {2 / gaps:.6f}, 1"]}
        return cells + [Setting(of, "histogram", promise, most, draws, median=True) for most in ends]
    if of.kind == "map":
        cell = float(of.space.rsplit("cell=", 1)[1].rstrip(")"))
        fine = [f"all, {cell:g} km, {epsilon}" for epsilon in (1, 10)]
        return [Setting(of, "histogram", {"promises": [promise]}, sizes[-1], draws) for promise in fine]
    far = "0.1" if of.kind == "tree" else "0.05"
    if of.kind == "product":  # distances from more raw places than these take too long
        ends = sorted({sizes[0], *sizes[1:2]})
    return [Setting(of, "histogram", {"promises": [f"all, {far}, 1"]}, most, draws) for most in ends]


def hard(draws: Draws, sizes: Sequence[int]) -> list[Setting]:
    """The four extremes, released like real sets."""
    results = []
    for name, shares in extremes().items():
        for users in sizes:
            values = np.random.default_rng(users).choice(len(shares), users, p=shares).astype(np.float64)
            where = f"line(low=0, high={len(shares) - 1}, step=1)"
            of = RealSet(name, "line", where, lambda v=values: (np.arange(len(v)), (v,)), True)  # type: ignore[misc]
            terms = {"alpha": 3 * (len(shares) - 1)}
            results.append(Setting(of, "histogram(mechanism='cells')", terms, users, draws))
    return results


def _share(held: Iterable[bool]) -> float | None:
    several = list(held)
    return round(float(np.mean(several)), 4) if several else None


def versus_best(found: Found) -> float:
    """The library's decoder over the best in hindsight."""
    best = max(min(found.decoders.values()), FLOOR * found.decoders["isotonic"])
    return max(found.decoders["screened"] / best, 1.0)


def _decoders(rows: Sequence[Found]) -> dict[str, Any]:
    times = {row.told: versus_best(row) for row in rows if row.decoders}
    if not times:
        return {"mean": None, "most": None, "where": None}
    where = max(times, key=lambda name: times[name])
    return {"mean": round(float(np.mean(list(times.values()))), 3), "most": round(times[where], 3), "where": where}


def _misses(rows: Sequence[Found]) -> dict[str, Any]:
    """Releases in which any block of the family missed: of the worst set, and of all."""
    sets: dict[str, list[int]] = {}
    for row in rows:
        here = sets.setdefault(row.name, [0, 0])
        here[0] += row.held.missed
        here[1] += row.held.releases
    sets = {name: pair for name, pair in sets.items() if pair[1]}
    if not sets:
        return {"pooled": [0, 0], "pooled_share": None, "worst": None, "worst_share": None, "sets": {}}
    worst = max(sets, key=lambda name: sets[name][0] / sets[name][1])
    misses, releases = (sum(pair[i] for pair in sets.values()) for i in (0, 1))
    return {
        "pooled": [misses, releases],
        "pooled_share": round(misses / releases, 4),
        "worst": [worst, *sets[worst]],
        "worst_share": round(sets[worst][0] / sets[worst][1], 4),
        "sets": sets,
    }


def figures_of(rows: Sequence[Found]) -> dict[str, Any]:
    """Everything that is said about accuracy, as shares of settings, intervals or releases."""
    fine, coarse = [row for row in rows if not row.coarse], [row for row in rows if row.coarse]
    everything = Held()
    least: list[tuple[float, str]] = []
    for row in rows:
        everything.add(row.held)
        for sort in SORTS:
            many, held, _ = row.held.counts.get(sort, [0.0, 0.0, 0.0])
            if many >= FEW:
                least.append((round(held / many, 4), f"{sort}: {row.told}"))
    known = everything.figures()
    medians = [row.median for row in rows if row.median]
    times = [median["times_a_share"] for median in medians]
    request = sum(median["releases"] for median in medians)
    return {
        "settings": len(rows),
        "before_within": _share(0.25 <= row.true[0] / row.about[0] <= 1.25 for row in rows),
        "before_within_without_snapping": _share(0.25 <= row.true[1] / row.about[1] <= 1.25 for row in rows),
        "before_most_within": _share(row.true[0] <= 1.2 * row.most for row in rows),
        "after_within": _share(0.67 <= row.own / row.true[0] <= 1.5 for row in fine),
        "after_settings": len(fine),
        "after_coarse_between": _share(
            row.between[0] <= row.true[0] <= 1.25 * row.between[1] for row in coarse if row.between is not None
        ),
        "coarse_settings": len(coarse),
        **{f"{sort}_coverage": known.get(sort, {}).get("held") for sort in SORTS},
        **{f"{sort}_width": known.get(sort, {}).get("width") for sort in SORTS},
        **{f"{sort}_count": known.get(sort, {}).get("count", 0) for sort in SORTS},
        "worst_set_coverage": min(least)[0] if least else None,
        "worst_sets": [list(pair) for pair in sorted(least)[:5]],
        "decoder_vs_best": _decoders(rows),
        "median_probability_width": round(float(np.mean(times)), 3) if times else None,
        "median_probability_width_most": max(times, default=None),
        "median_people_inside_most": max((median["people_inside"] for median in medians), default=None),
        "median_coverage": round(sum(median["held"] for median in medians) / request, 4) if request else None,
        "median_releases": request,
        "merged_any_miss": _misses(rows),
    }


def report(rows: Sequence[Found], made_up: Sequence[Found]) -> dict[str, Any]:
    """The figures of all sets and of those touched once, the list of sets, and every setting."""
    named = {row.name: bool(row.row["used"]) for row in rows}
    once = [row for row in rows if not row.row["used"]]
    return {
        **figures_of(rows),
        "decoder_vs_best_extremes": _decoders(made_up),
        "touched_once": figures_of(once) if once else None,
        "sets": {
            "used": [name for name, used in named.items() if used],
            "touched_once": [name for name, used in named.items() if not used],
        },
        "used_for": {
            "how blocks are screened, references of predictions": "used lines and maps, airports by state",
            "the reference of rough weights": "planes, carriers, stones (tree)",
            "towns with rough cells, the reference of maps and products": "all maps and products, for errors before",
            "whole=True": "flights delay, OFP, flights arrival, planes year: after looking at their errors",
            "the rule of upper limits": "added after a first run on all sets: limits_coverage is no fresh figure",
        },
        "sources": SOURCES,
        "rows": [row.to_json() for row in [*rows, *made_up]],
    }


def _told(row: Found) -> str:
    return (
        f"{row.told:52} said {row.about[0]:9.3g} most {row.most:9.3g} true {row.true[0]:9.3g} "
        f"after {row.own:9.3g} missed {row.held.missed}/{row.held.releases}"
    )


_ASKED: list[Setting] = []
"""What workers measure: they are forked from this process, and are told numbers only."""


def _numbered(number: int) -> Found:
    return measured(_ASKED[number])


def run(settings: Iterable[Setting], processes: int = 1) -> list[Found]:
    """Measure, and say each setting as it is done."""
    _ASKED[:] = settings
    rows: list[Found] = []
    if processes == 1:
        founds: Iterable[Found] = map(_numbered, range(len(_ASKED)))
    else:
        founds = get_context("fork").Pool(processes).imap(_numbered, range(len(_ASKED)))
    for row in founds:
        rows.append(row)
        print(_told(row), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Measure all sets, or a few of them quickly."""
    parser = argparse.ArgumentParser(prog="scripts/bench truth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few sets, few draws: two minutes")
    parser.add_argument("--only", default="", choices=["line", "map", "tree", "product"], help="one kind of sets")
    parser.add_argument("--processes", type=int, default=2, help="how many settings are measured at a time")
    parser.add_argument("--pictures", action="store_true", help="measure nothing: pictures and tables of what is kept")
    given = parser.parse_args()
    if given.pictures:
        finish({"pictures": save(), "tables": save_tables()})
        return
    sets = [*_real_sets.lines(), *_real_sets.maps(), *_real_sets.trees(), *_real_sets.products()]
    draws = {"line": Draws(60, 40, 6), "map": Draws(150, 6, 1), "tree": Draws(150, 60, 5), "product": Draws(150, 6, 3)}
    if given.quick:
        few = {"PSID hours", "Housing", "OFP", "depredations", "riots", "planes", "weather"}
        sets = [one for one in sets if one.name in few]
        draws = {"line": Draws(20, 20, 2), "map": Draws(20, 2, 1), "tree": Draws(20, 20, 2), "product": Draws(20, 2, 1)}
    sizes = PEOPLE[:2] if given.quick else (*PEOPLE, 100_000)
    subset = [one for one in sets if given.only in ("", one.kind)]
    requests = [setting for one in subset for setting in settings_of(one, draws[one.kind])]
    made_up = hard(draws["line"], sizes) if given.only in ("", "line") else []
    rows = run([*requests, *made_up], given.processes)
    finish(report(rows[: len(requests)], rows[len(requests) :]))


if __name__ == "__main__":
    main()
